package maven

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"time"
)

// A Binary is the server for one platform.
type Binary struct {
	OS, Arch string // as GOOS and GOARCH
	Path     string
}

// names are those of Netty's and protoc's artifacts for Go's.
var names = map[string]string{"darwin": "osx", "amd64": "x86_64", "arm64": "aarch_64"}

func name(goName string) string {
	if n, ok := names[goName]; ok {
		return n
	}
	return goName
}

// Platform returns the platform's name in artifacts, as in zlimit-server-linux-x86_64.
func (b Binary) Platform() string { return name(b.OS) + "-" + name(b.Arch) }

// modified is the time of every entry; project.build.outputTimestamp of pom.xml is the same.
var modified = time.Date(1985, time.October, 26, 8, 15, 0, 0, time.UTC)

// platformJar returns a jar with the binary, its size and its digest.
func platformJar(b Binary, version string) ([]byte, error) {
	content, err := os.ReadFile(b.Path)
	if err != nil {
		return nil, err
	}
	manifest := fmt.Sprintf("Manifest-Version: 1.0\r\nImplementation-Title: %s\r\nImplementation-Version: %s\r\n\r\n",
		artifact(b), version)
	properties := fmt.Sprintf("sha256=%x\nsize=%d\n", sha256.Sum256(content), len(content))
	folder := "io/zlimit/server/" + b.Platform() + "/"
	var out bytes.Buffer
	jar := zip.NewWriter(&out)
	jar.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, entry := range []struct {
		name    string
		content []byte
	}{
		{"META-INF/MANIFEST.MF", []byte(manifest)},
		{folder + "zlimit-server", content},
		{folder + "zlimit-server.properties", []byte(properties)},
	} {
		w, err := jar.CreateHeader(&zip.FileHeader{Name: entry.name, Method: zip.Deflate, Modified: modified})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(entry.content); err != nil {
			return nil, err
		}
	}
	err = jar.Close()
	return out.Bytes(), err
}

func artifact(b Binary) string { return "zlimit-server-" + b.Platform() }

// A pom is what a platform's jar says of itself.
type pom struct {
	XMLName      xml.Name `xml:"http://maven.apache.org/POM/4.0.0 project"`
	ModelVersion string   `xml:"modelVersion"`
	GroupID      string   `xml:"groupId"`
	ArtifactID   string   `xml:"artifactId"`
	Version      string   `xml:"version"`
	Name         string   `xml:"name"`
	Description  string   `xml:"description"`
	URL          string   `xml:"url"`
}

func platformPom(b Binary, version string) ([]byte, error) {
	text, err := xml.MarshalIndent(pom{
		ModelVersion: "4.0.0", GroupID: group, ArtifactID: artifact(b), Version: version, Name: artifact(b),
		Description: "The binary of zlimit-server for " + b.Platform() + ", which zlimit-junit depends on",
		URL:         "https://github.com/zlimit/zlimit",
	}, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}
