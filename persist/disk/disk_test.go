package disk_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// both runs a test on a directory of the system and on crashdisk, which must behave
// alike while the power is on.
func both(t *testing.T, test func(t *testing.T, on disk.FS)) {
	t.Run("os", func(t *testing.T) { test(t, disk.OS(t.TempDir())) })
	t.Run("crashdisk", func(t *testing.T) { test(t, crashdisk.New(1).FS()) })
}

func content(t *testing.T, on disk.FS, name string) string {
	t.Helper()
	f, err := on.Open(name)
	require.NoError(t, err)
	defer f.Close()
	data, err := io.ReadAll(f)
	require.NoError(t, err)
	size, err := f.Size()
	require.NoError(t, err)
	require.EqualValues(t, len(data), size)
	return string(data)
}

func put(t *testing.T, f disk.File, text string) {
	t.Helper()
	n, err := io.WriteString(f, text)
	require.NoError(t, err)
	require.Equal(t, len(text), n)
}

func TestFiles(t *testing.T) {
	both(t, func(t *testing.T, on disk.FS) {
		_, err := on.Open("a")
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = on.Create("d/a")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorIs(t, on.Remove("a"), fs.ErrNotExist)
		require.ErrorIs(t, on.Rename("a", "b"), fs.ErrNotExist)
		there, err := disk.Exists(on, "a")
		require.NoError(t, err)
		require.False(t, there)

		require.NoError(t, on.MkdirAll("d"))
		require.NoError(t, on.MkdirAll("d"))
		f, err := on.Create("d/a")
		require.NoError(t, err)
		put(t, f, "0123456789")
		require.NoError(t, f.Sync())
		require.NoError(t, f.Truncate(2))
		put(t, f, "23")
		size, err := f.Size()
		require.NoError(t, err)
		require.EqualValues(t, 4, size, "a write appends after Truncate")
		require.NoError(t, f.Close())

		f, err = on.OpenAppend("d/a")
		require.NoError(t, err)
		put(t, f, "ab")
		require.NoError(t, f.Truncate(5))
		put(t, f, "c")
		at := make([]byte, 3)
		_, err = f.ReadAt(at, 3)
		require.NoError(t, err)
		require.Equal(t, "3ac", string(at))
		require.NoError(t, f.Close())
		require.NoError(t, on.Rewrite("d/a", 2))
		require.NoError(t, on.Rewrite("d/a", 100))
		require.Equal(t, "0123ac", content(t, on, "d/a"))
		require.ErrorIs(t, on.Rewrite("d/b", 0), fs.ErrNotExist)

		require.NoError(t, on.Rename("d/a", "b"))
		require.NoError(t, on.SyncDir("d"))
		require.NoError(t, on.SyncDir("."))
		names, err := on.ReadDir(".")
		require.NoError(t, err)
		require.Equal(t, []string{"b", "d"}, names)
		names, err = on.ReadDir("d")
		require.NoError(t, err)
		require.Empty(t, names)
		_, err = on.ReadDir("e")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorIs(t, on.SyncDir("e"), fs.ErrNotExist)
		require.NoError(t, on.Remove("b"))
	})
}

func TestWriteFile(t *testing.T) {
	both(t, func(t *testing.T, on disk.FS) {
		write := func(text string, err error) error {
			return disk.WriteFile(on, "f", "temp-f", func(w io.Writer) error {
				_, werr := io.WriteString(w, text)
				return errors.Join(werr, err)
			})
		}
		require.NoError(t, write("one", nil))
		planted := errors.New("planted")
		require.ErrorIs(t, write("two", planted), planted)
		require.Equal(t, "one", content(t, on, "f"))
		require.NoError(t, write("three", nil))
		require.Equal(t, "three", content(t, on, "f"))
		names, err := on.ReadDir(".")
		require.NoError(t, err)
		require.Equal(t, []string{"f"}, names)
	})
}

func TestReplaceFile(t *testing.T) {
	both(t, func(t *testing.T, on disk.FS) {
		replace := func(text string) error {
			return disk.ReplaceFile(on, "f", "temp-f", func(w io.Writer) error {
				_, err := io.WriteString(w, text)
				return err
			})
		}
		require.NoError(t, replace("one"), "there was none")
		require.Equal(t, "one", content(t, on, "f"))
		require.NoError(t, replace("two"))
		require.Equal(t, "two", content(t, on, "f"))
		require.ErrorIs(t, on.CopyOwner("none", "f"), fs.ErrNotExist)
		require.ErrorIs(t, on.CopyOwner("f", "none"), fs.ErrNotExist)
	})
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, mode := range []fs.FileMode{0o600, 0o640, 0o444} {
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
		require.NoError(t, os.Chmod(path, mode))
		require.NoError(t, disk.ReplaceFile(disk.OS(dir), "f", "temp-f", func(w io.Writer) error {
			info, err := os.Stat(filepath.Join(dir, "temp-f"))
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode().Perm(), "before anything is written")
			_, err = io.WriteString(w, "new")
			return err
		}))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm())
		require.NoError(t, os.Remove(path))
	}
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	release, err := disk.OS(dir).Lock()
	require.NoError(t, err)
	_, err = disk.OS(dir).Lock()
	require.ErrorIs(t, err, disk.ErrLocked)
	require.ErrorContains(t, err, dir)
	require.NoError(t, release())
	release, err = disk.OS(dir).Lock()
	require.NoError(t, err)
	require.NoError(t, release())
	_, err = disk.OS(filepath.Join(dir, "none")).Lock()
	require.ErrorIs(t, err, fs.ErrNotExist)
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, names, "a lock leaves no file")
}

func TestNamesOutsideAreRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("s"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "in"), 0o700))
	on := disk.OS(filepath.Join(dir, "in"))
	for _, name := range []string{"../secret", "a/../../secret", "/etc/passwd", "..", "", "a\x00b"} {
		for what, err := range map[string]error{
			"open":    second(on.Open(name)),
			"create":  second(on.Create(name)),
			"append":  second(on.OpenAppend(name)),
			"remove":  on.Remove(name),
			"rename":  on.Rename("a", name),
			"from":    on.Rename(name, "a"),
			"mkdir":   on.MkdirAll(name),
			"sync":    on.SyncDir(name),
			"readdir": second(on.ReadDir(name)),
			"rewrite": on.Rewrite(name, 0),
			"owner":   on.CopyOwner(name, "a"),
		} {
			require.ErrorIs(t, err, disk.ErrOutside, "%s %q", what, name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// countingFS counts the syncs of files.
type countingFS struct {
	disk.FS
	syncs *int
}

func (c countingFS) Create(name string) (disk.File, error) {
	f, err := c.FS.Create(name)
	return countingFile{f, c.syncs}, err
}

type countingFile struct {
	disk.File
	syncs *int
}

func (f countingFile) Sync() error {
	*f.syncs++
	return f.File.Sync()
}

// TestWriteFileInPieces checks that a large file on a disk that only knows Sync is synced in pieces, and that
// the system's is written whole.
func TestWriteFileInPieces(t *testing.T) {
	piece := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	const pieces = 200
	write := func(w io.Writer) error {
		for range pieces {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
		return nil
	}
	on := disk.OS(t.TempDir())
	require.NoError(t, disk.WriteFileInPieces(on, "f", "temp-f", write))
	require.Len(t, content(t, on, "f"), pieces*len(piece))

	syncs := 0
	counting := countingFS{crashdisk.New(1).FS(), &syncs}
	require.NoError(t, disk.WriteFileInPieces(counting, "f", "temp-f", write))
	require.Equal(t, 1+pieces*len(piece)/(4<<20), syncs)
	syncs = 0
	require.NoError(t, disk.WriteFile(counting, "f", "temp-f", write))
	require.Equal(t, 1, syncs)
}
