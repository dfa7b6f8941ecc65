package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"
)

// maxArchive is how many bytes a wheel, a tarball or a jar may have.
const maxArchive = 8_000_000

// compression is the level of archives. Tests lower it: they need packages, not the last percent of their
// size.
var compression = flate.BestCompression

var errLarge = errors.New("it is too large")

// longAgo is the time of everything in an archive: the first that a zip file can have.
var longAgo = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func (f *file) permissions() os.FileMode {
	if f.mode == 0 {
		return 0o644
	}
	return f.mode
}

// writeZip writes a zip file of the files in their order: a wheel or a jar.
func writeZip(name string, files []file) error {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, compression)
	})
	for _, f := range files {
		h := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: longAgo}
		h.SetMode(f.permissions())
		entry, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return writeArchive(name, out.Bytes())
}

// writeTar writes a compressed tar archive of the files in their order, below a folder: what
// npm calls a package.
func writeTar(name, folder string, files []file) error {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, compression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{
			Name: path.Join(folder, f.path), Mode: int64(f.permissions()), Size: int64(len(f.content)),
			ModTime: longAgo, Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return writeArchive(name, out.Bytes())
}

// writeArchive writes an archive, unless it is larger than users may be asked to download.
func writeArchive(name string, content []byte) error {
	if len(content) > maxArchive {
		return fmt.Errorf("%s: %w: %d bytes, of at most %d", filepath.Base(name), errLarge, len(content),
			maxArchive)
	}
	return os.WriteFile(name, content, 0o644)
}
