package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
)

// TestReproducible checks that equal input gives equal images, and other input others.
func TestReproducible(t *testing.T) {
	digest := func(s source) string {
		all, err := index([]source{s})
		require.NoError(t, err)
		d, err := all.Digest()
		require.NoError(t, err)
		return d.String()
	}
	s := source{[]byte("binary"), []byte("port 1\n"), "1.2.3", "amd64"}
	want := digest(s)
	require.Equal(t, want, digest(s))
	for _, other := range []source{
		{[]byte("binarz"), s.config, s.version, s.arch},
		{s.binary, []byte("port 2\n"), s.version, s.arch},
		{s.binary, s.config, "1.2.4", s.arch},
		{s.binary, s.config, s.version, "arm64"},
	} {
		require.NotEqual(t, want, digest(other))
	}
}

// TestRefusals checks the command line.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "c")
	require.NoError(t, os.WriteFile(config, []byte("port 1\n"), 0o600))
	for _, args := range [][]string{
		{"-layout", dir},
		{"-layout", dir, "-config", config},
		{"-layout", dir, "-config", config, "amd64"},
		{"-layout", dir, "-config", config, "amd64=" + filepath.Join(dir, "none")},
		{"-layout", dir, "-config", filepath.Join(dir, "none"), "amd64=" + config},
	} {
		require.Error(t, run(args), "%q", args)
	}
}

// TestImage builds the server and its image, unpacks it and starts it: in its own root
// and as its own user if the test may do that.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	// As make image does: what packages' tests and those of command release compile is cached then.
	binary := filepath.Join(dir, "zlimit-server-linux-"+runtime.GOARCH)
	out, err := exec.Command("go", "run", "../release", "-source", "../../", "-only", "linux/"+runtime.GOARCH,
		"-pgo=off", "-out", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	path, archive := filepath.Join(dir, "layout"), filepath.Join(dir, "archive.tar")
	require.NoError(t, run([]string{
		"-version", "1.2.3+dirty", "-config", "zlimit.conf", "-layout", path, "-tarball", archive,
		runtime.GOARCH + "=" + binary, "riscv64=" + binary,
	}))
	written, err := layout.ImageIndexFromPath(path)
	require.NoError(t, err)
	require.NoError(t, validate.Index(written))
	manifest, err := written.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 2)
	require.Equal(t, runtime.GOARCH, manifest.Manifests[0].Platform.Architecture)
	image, err := written.Image(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	loaded, err := tarball.ImageFromPath(archive, nil)
	require.NoError(t, err)
	require.NoError(t, validate.Image(loaded))

	file, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "65532:65532", file.Config.User)
	require.Equal(t, runtime.GOARCH, file.Architecture)
	root := filepath.Join(dir, "root")
	unpack(t, image, root)
	startUnpacked(t, root, file.Config)
}

// unpack extracts the image's files.
func unpack(t *testing.T, image v1.Image, root string) {
	t.Helper()
	require.NoError(t, os.Mkdir(root, 0o755))
	files := mutate.Extract(image)
	defer files.Close()
	r := tar.NewReader(files)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		require.True(t, filepath.IsLocal(h.Name), h.Name)
		require.True(t, h.ModTime.Equal(created), h.Name)
		require.Equal(t, filepath.Clean(h.Name) == dataPath, h.Uid == userID,
			"only the data is the server's: %s", h.Name)
		path := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			require.NoError(t, os.Mkdir(path, h.FileInfo().Mode().Perm()))
		} else {
			content, err := io.ReadAll(r)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, content, h.FileInfo().Mode().Perm()))
		}
		if os.Geteuid() == 0 {
			require.NoError(t, os.Chown(path, h.Uid, h.Gid))
		}
	}
}

// startUnpacked starts the image's entry point and sends PING and SAVE.
func startUnpacked(t *testing.T, root string, c v1.Config) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := append(c.Entrypoint[1:], "--port", "0", "--port-file", "/data/port")
	cmd := exec.CommandContext(ctx, c.Entrypoint[0], args...)
	cmd.Dir, cmd.Env = c.WorkingDir, []string{}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Chroot: root, Credential: &syscall.Credential{Uid: userID, Gid: userID},
		}
	} else { // without a root of its own, paths are the system's
		cmd.Path, cmd.Dir = filepath.Join(root, binaryPath), root
		data := filepath.Join(root, dataPath)
		cmd.Args = []string{
			cmd.Path, filepath.Join(root, configPath), "--dir", data, "--port", "0",
			"--port-file", filepath.Join(data, "port"),
		}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended := false
	defer func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	first, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "%s", &stderr)
	require.Contains(t, first, "listens on 0.0.0.0:")
	port, err := os.ReadFile(filepath.Join(root, dataPath, "port"))
	require.NoError(t, err)
	client, err := net.Dial("tcp", "127.0.0.1:"+strings.TrimSpace(string(port)))
	require.NoError(t, err)
	defer client.Close()
	replies := bufio.NewReader(client)
	for command, want := range map[string]string{"PING": "+PONG\r\n", "SAVE": "+OK\r\n"} {
		_, err = fmt.Fprintf(client, "%s\r\n", command)
		require.NoError(t, err)
		reply, err := replies.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, reply)
	}
	require.FileExists(t, filepath.Join(root, dataPath, "dump.rdb"))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	ended = true
	require.NoError(t, cmd.Wait())
}
