// Command image builds an OCI image of zlimit-server for one or more platforms, without
// a daemon and on an empty base: the static binary, its configuration, and an empty
// directory for files. The same input gives the same image.
package main

import (
	"archive/tar"
	"bytes"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Within the image. userID is nobody's, by custom of images without accounts.
const (
	binaryPath = "zlimit-server"
	configPath = "etc/zlimit/zlimit.conf"
	dataPath   = "data"
	userID     = 65532
)

// created is the instant of all files and of the image.
var created = time.Unix(0, 0).UTC()

// A source is the contents of an image.
type source struct {
	binary  []byte // static, for the platform
	config  []byte
	version string
	arch    string
}

// layer returns the image's only layer: files of root, which the server can read, and a
// directory in which it can write.
func (s *source) layer() (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct {
		name    string
		mode    int64
		id      int
		content []byte // nil: a directory
	}{
		{name: dataPath + "/", mode: 0o700, id: userID},
		{name: "etc/", mode: 0o755},
		{name: "etc/zlimit/", mode: 0o755},
		{name: configPath, mode: 0o644, content: s.config},
		{name: binaryPath, mode: 0o755, content: s.binary},
	} {
		h := &tar.Header{
			Name: f.name, Mode: f.mode, Uid: f.id, Gid: f.id, ModTime: created, Size: int64(len(f.content)),
			Typeflag: tar.TypeReg, Format: tar.FormatPAX,
		}
		if f.content == nil {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
}

// image returns the image of a platform.
func (s *source) image() (v1.Image, error) {
	layer, err := s.layer()
	if err != nil {
		return nil, err
	}
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "make image"},
	}); err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Architecture, file.OS, file.Created = s.arch, "linux", v1.Time{Time: created}
	file.Config = v1.Config{
		User:         "65532:65532",
		ExposedPorts: map[string]struct{}{"6379/tcp": {}, "9100/tcp": {}},
		Entrypoint:   []string{"/" + binaryPath, "/" + configPath},
		Volumes:      map[string]struct{}{"/" + dataPath: {}},
		WorkingDir:   "/" + dataPath,
		StopSignal:   "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "zlimit-server",
			"org.opencontainers.image.description": "A rate-limit server that speaks the Redis protocol.",
			"org.opencontainers.image.version":     s.version,
		},
	}
	return mutate.ConfigFile(image, file)
}

// index returns an index of the images, in their order.
func index(sources []source) (v1.ImageIndex, error) {
	out := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i := range sources {
		image, err := sources[i].image()
		if err != nil {
			return nil, err
		}
		out = mutate.AppendManifests(out, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: sources[i].arch}},
		})
	}
	return out, nil
}
