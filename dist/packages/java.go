package main

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	mavenGroup    = "io.zlimit"
	javaCode      = "zlimit-junit" // the artifact with the code
	javaResources = "io/zlimit/server/"
)

// mavenNames are those of Netty's and protoc's artifacts, for Go's.
var mavenNames = names{"darwin": "osx", "amd64": "x86_64", "arm64": "aarch_64"}

func mavenArtifact(p platform) string { return "zlimit-server-" + mavenNames.platform(p) }

// buildJava writes a Maven repository: a jar with the binary for each platform, and the jar
// with the code, which Maven builds.
func buildJava(ctx context.Context, f *frame) error {
	dir, err := f.folder("java")
	if err != nil {
		return err
	}
	r := mavenRepository{dir: dir, version: f.version, owner: f.owner, texts: f.texts}
	for _, p := range f.platforms {
		if err := r.addPlatform(p, f.binaries[p]); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp("", "zlimit-java")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	project := filepath.Join(work, "project")
	if err := f.stage("java", project); err != nil {
		return err
	}
	mvn, err := newMaven(filepath.Join(work, "maven"), dir)
	if err != nil {
		return err
	}
	err = mvn.run(ctx, project, nil, "-Dmaven.test.skip",
		"-DadditionalJOption=-J-XX:TieredStopAtLevel=1", // of javadoc's own JVM
		"package")
	if err != nil {
		return err
	}
	for suffix, built := range map[string]string{
		".pom": "pom.xml", ".jar": "target/zlimit-junit-" + f.version + ".jar",
		"-sources.jar": "target/zlimit-junit-" + f.version + "-sources.jar",
		"-javadoc.jar": "target/zlimit-junit-" + f.version + "-javadoc.jar",
	} {
		content, err := os.ReadFile(filepath.Join(project, built))
		if err != nil {
			return err
		}
		if err := r.add(javaCode, suffix, content); err != nil {
			return err
		}
	}
	return nil
}

// stage copies the sources of a package, or a part of them, with manifests for what is built.
func (f *frame) stage(folder, to string) error {
	files, err := f.sources(folder, func(path string) bool {
		return !strings.Contains("/"+path, "/target/") && !strings.Contains("/"+path, "/node_modules/")
	})
	if err != nil {
		return err
	}
	for _, s := range files {
		path := filepath.Join(to, filepath.FromSlash(s.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.manifest(s)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A mavenRepository is a directory in the layout of a Maven repository.
type mavenRepository struct {
	dir, version string
	owner        owner
	texts        []byte
}

// path returns the path of a file of an artifact, given by what follows the version in its name.
func (r mavenRepository) path(artifact, suffix string) string {
	return filepath.Join(r.dir, strings.ReplaceAll(mavenGroup, ".", "/"), artifact, r.version,
		artifact+"-"+r.version+suffix)
}

// add writes a file of an artifact and its checksums.
func (r mavenRepository) add(artifact, suffix string, content []byte) error {
	path := r.path(artifact, suffix)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := writeArchive(path, content); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		path + ".md5":  fmt.Appendf(nil, "%x", md5.Sum(content)),
		path + ".sha1": fmt.Appendf(nil, "%x", sha1.Sum(content)),
	} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A mavenPom is what a platform's jar says of itself.
type mavenPom struct {
	XMLName      xml.Name `xml:"http://maven.apache.org/POM/4.0.0 project"`
	ModelVersion string   `xml:"modelVersion"`
	GroupID      string   `xml:"groupId"`
	ArtifactID   string   `xml:"artifactId"`
	Version      string   `xml:"version"`
	Name         string   `xml:"name"`
	Description  string   `xml:"description"`
	URL          string   `xml:"url"`
	SCM          mavenSCM `xml:"scm"`
}

type mavenSCM struct {
	URL string `xml:"url"`
}

// addPlatform adds the artifact with a binary, its size and its digest.
func (r mavenRepository) addPlatform(p platform, binary []byte) error {
	artifact := mavenArtifact(p)
	pom, err := xml.MarshalIndent(mavenPom{
		ModelVersion: "4.0.0", GroupID: mavenGroup, ArtifactID: artifact, Version: r.version, Name: artifact,
		Description: "The binary of zlimit-server for " + p.String() + ", which zlimit-junit depends on",
		URL:         projectURL, SCM: mavenSCM{URL: projectURL},
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := r.add(artifact, ".pom", []byte(xml.Header+r.owner.pom(string(pom))+"\n")); err != nil {
		return err
	}
	manifest := fmt.Sprintf("Manifest-Version: 1.0\r\nAutomatic-Module-Name: io.zlimit.server.%s\r\n"+
		"Implementation-Title: %s\r\nImplementation-Version: %s\r\n\r\n",
		strings.ReplaceAll(mavenNames.platform(p), "-", "."), artifact, r.version)
	properties := fmt.Sprintf("sha256=%x\nsize=%d\n", sha256.Sum256(binary), len(binary))
	folder := javaResources + mavenNames.platform(p) + "/"
	jar := r.path(artifact, ".jar")
	err = writeZip(jar, []file{
		{path: "META-INF/MANIFEST.MF", content: []byte(manifest)},
		{path: "META-INF/" + textsName, content: r.texts},
		{path: folder + "zlimit-server", content: binary, mode: 0o755},
		{path: folder + "zlimit-server.properties", content: []byte(properties)},
	})
	if err != nil {
		return err
	}
	jars := map[string]string{".jar": jar}
	// Maven Central asks for both, and takes a note where there is nothing in Java.
	for suffix, what := range map[string]string{"-sources.jar": "sources", "-javadoc.jar": "documentation"} {
		jars[suffix] = r.path(artifact, suffix)
		note := fmt.Sprintf("The program in %s is not in Java. Its %s: %s\n", artifact, what, projectURL)
		if err := writeZip(jars[suffix], []file{{path: "README.txt", content: []byte(note)}}); err != nil {
			return err
		}
	}
	for suffix, jar := range jars {
		content, err := os.ReadFile(jar)
		if err != nil {
			return err
		}
		if err := r.add(artifact, suffix, content); err != nil {
			return err
		}
	}
	return nil
}
