package crashdisk_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// outcomes counts the contents that many power cuts leave of a file.
func outcomes(on *crashdisk.Disk, name string) map[string]int {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := make(map[string]int)
	for range 300 {
		left := on.PowerCut(rng)
		what := "none"
		for _, n := range left.Names() {
			if n == name {
				what = string(left.Bytes(name))
			}
		}
		seen[what]++
	}
	return seen
}

func TestSyncedIsDurable(t *testing.T) {
	on := crashdisk.New(1)
	files := on.FS()
	f, err := files.Create("f")
	require.NoError(t, err)
	_, err = io.WriteString(f, "safe")
	require.NoError(t, err)
	require.Contains(t, outcomes(on, "f"), "none")
	require.NoError(t, f.Sync())
	require.Contains(t, outcomes(on, "f"), "none", "its bytes are durable, its name is not")
	require.NoError(t, files.SyncDir("."))
	require.Equal(t, map[string]int{"safe": 300}, outcomes(on, "f"))
}

func TestUnsyncedMayBeTornReorderedAndAhead(t *testing.T) {
	on := crashdisk.New(1)
	files := on.FS()
	f, err := files.Create("f")
	require.NoError(t, err)
	require.NoError(t, files.SyncDir("."))
	a, b := strings.Repeat("a", 512), strings.Repeat("b", 512)
	for _, text := range []string{a, b} {
		_, err = io.WriteString(f, text)
		require.NoError(t, err)
	}
	seen := outcomes(on, "f")
	zeros := strings.Repeat("\x00", 512)
	for what, text := range map[string]string{
		"nothing": "", "all": a + b, "the first": a,
		"the second only": zeros + b, "the length only": zeros + zeros,
	} {
		require.Contains(t, seen, text, what)
	}
	torn := false
	for text := range seen {
		torn = torn || len(text)%512 != 0
	}
	require.True(t, torn)
}

func TestNamesMayBeUndone(t *testing.T) {
	on := crashdisk.New(1)
	on.Put("d/old", []byte("old"))
	on.Put("d/new", []byte("new"))
	files := on.FS()
	require.NoError(t, files.Rename("d/new", "d/old"))
	require.NoError(t, files.Remove("d/old"))
	seen := outcomes(on, "d/old")
	require.Contains(t, seen, "old", "both are undone")
	require.Contains(t, seen, "new", "the removal is")
	require.Contains(t, seen, "none")
	require.NoError(t, files.SyncDir("."), "another directory")
	require.Len(t, outcomes(on, "d/old"), 3)
	require.NoError(t, files.SyncDir("d"))
	require.Equal(t, map[string]int{"none": 300}, outcomes(on, "d/old"))
}

// TestFailedSyncIsFinal models a kernel that treats the pages as clean.
func TestFailedSyncIsFinal(t *testing.T) {
	planted := errors.New("planted")
	seen := make(map[string]bool)
	for seed := range uint64(40) {
		on := crashdisk.New(seed)
		files := on.FS()
		f, err := files.OpenAppend("f")
		require.NoError(t, err)
		require.NoError(t, files.SyncDir("."))
		_, err = io.WriteString(f, "lost")
		require.NoError(t, err)
		on.Hook(func(crashdisk.Op) crashdisk.Fault { return crashdisk.Fault{Err: planted} })
		require.ErrorIs(t, f.Sync(), planted)
		on.Hook(nil)
		require.NoError(t, f.Sync())
		require.Equal(t, "lost", string(on.Bytes("f")), "it can be read all the same")
		got := outcomes(on, "f")
		require.Len(t, got, 1)
		for text := range got {
			seen[text] = true
		}

		require.NoError(t, files.Rewrite("f", 0))
		require.NoError(t, f.Sync())
		require.Equal(t, map[string]int{"lost": 300}, outcomes(on, "f"))
	}
	require.True(t, seen[""] && seen["lost"], fmt.Sprint(seen))
}

func TestPowerOff(t *testing.T) {
	on := crashdisk.New(1)
	on.SetCapacity(10)
	old := on.FS()
	f, err := old.Create("f")
	require.NoError(t, err)
	n, err := io.WriteString(f, "0123456789ab")
	require.ErrorIs(t, err, crashdisk.ErrSpace)
	require.Equal(t, 10, n)
	release, err := old.Lock()
	require.NoError(t, err)
	files := on.FS()
	require.ErrorIs(t, f.Sync(), crashdisk.ErrOff, "its process is dead")
	require.NoError(t, release())
	_, err = files.Lock()
	require.NoError(t, err, "and with it the lock")
	on.StopAt(on.Ops() + 2)
	require.NoError(t, files.MkdirAll("d"))
	require.ErrorIs(t, files.MkdirAll("e"), crashdisk.ErrOff)
	require.ErrorIs(t, files.MkdirAll("e"), crashdisk.ErrOff)
	_, err = files.Open("f")
	require.ErrorIs(t, err, crashdisk.ErrOff)
}
