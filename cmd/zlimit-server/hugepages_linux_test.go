package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestHugePagesSupport(t *testing.T) {
	system := func(enabled, size string) fstest.MapFS {
		return fstest.MapFS{
			"sys/kernel/mm/transparent_hugepage/enabled":        {Data: []byte(enabled + "\n")},
			"sys/kernel/mm/transparent_hugepage/hpage_pmd_size": {Data: []byte(size + "\n")},
		}
	}
	for name, c := range map[string]struct {
		root fstest.MapFS
		size uintptr
	}{
		"where asked for":     {system("always [madvise] never", "2097152"), 2 * mb},
		"everywhere":          {system("[always] madvise never", "2097152"), 2 * mb},
		"never":               {system("always madvise [never]", "2097152"), 0},
		"none in this kernel": {fstest.MapFS{}, 0},
		"too large a move":    {system("always [madvise] never", "536870912"), 0},
		"not a number":        {system("always [madvise] never", "2M"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHugePages(c.root)
			if c.size == 0 {
				require.Nil(t, h)
				return
			}
			require.Equal(t, c.size, h.size)
			require.Len(t, h.resident, int(c.size)/os.Getpagesize())
		})
	}
}

func TestHugePageCandidates(t *testing.T) {
	h := &hugePages{size: 2 * mb}
	const maps = `00400000-00c00000 r-xp 00000000 fe:00 42                         /usr/bin/zlimit-server
00c00000-01400000 rw-p 00800000 fe:00 42                         /usr/bin/zlimit-server
2b7f00100000-2b7f00800000 rw-p 00000000 00:00 0
2b7f00800000-2b7f04000000 ---p 00000000 00:00 0
7f0000000000-7f0000400000 rw-s 00000000 00:01 7                          /dev/zero (deleted)
7f0000600000-7f00007ff000 rw-p 00000000 00:00 0
7f0000800000-7f0000a00000 rw-p 00000000 00:00 0                          [anon: Go: heap]
nonsense
zz-7f0000a00000 rw-p 00000000 00:00 0
`
	require.Equal(t, []uintptr{0x2b7f00200000, 0x2b7f00400000, 0x2b7f00600000, 0x7f0000800000},
		h.candidates(maps))
	require.Empty(t, h.candidates(strings.Repeat("-\n", maxMaps)+maps),
		"the kernel allows only so many mappings")
}

// This checks against the kernel. Of four places one is full, one lacks a page, one is
// empty and one was returned and filled again. Every kernel reports residency; only one
// with huge pages reports the advice.
func TestHugePagesAdvice(t *testing.T) {
	h := newHugePages(fstest.MapFS{
		"sys/kernel/mm/transparent_hugepage/hpage_pmd_size": {Data: []byte("2097152")},
	})
	_, err := os.Stat("/sys/kernel/mm/transparent_hugepage")
	kernelHas := err == nil
	mem, err := syscall.Mmap(-1, 0, 6*int(h.size), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(mem)) }()
	base := uintptr(unsafe.Pointer(&mem[0]))
	place := func(i int) []byte {
		from := int(-base&(h.size-1)) + i*int(h.size)
		return mem[from : from+int(h.size)]
	}
	page := os.Getpagesize()
	fill := func(b []byte) {
		for i := 0; i < len(b); i += page {
			b[i] = 1
		}
	}
	giveBack := func(b []byte) { require.NoError(t, syscall.Madvise(b, syscall.MADV_DONTNEED)) }
	// Ignore other places: the rest of the process is running.
	look := func() (asked []bool) {
		maps, err := os.ReadFile("/proc/self/maps")
		require.NoError(t, err)
		seen := 0
		for _, at := range h.candidates(string(maps)) {
			if at >= base && at < base+uintptr(len(mem)) {
				h.advise(at)
				seen++
			}
		}
		require.GreaterOrEqual(t, seen, 5, "places of this mapping")
		for i := range 4 {
			first := &place(i)[0]
			_, yes := h.advised[uintptr(unsafe.Pointer(first))]
			asked = append(asked, yes)
			if kernelHas {
				require.Equal(t, yes, slices.Contains(flags(t, first), "hg"), "advice of place %d", i)
			}
		}
		return asked
	}
	full, lacking, back := place(0), place(1), place(3)
	fill(full)
	fill(lacking)
	fill(back)
	giveBack(lacking[page : 2*page])
	require.Equal(t, []bool{true, false, false, true}, look())
	giveBack(back[:page])
	require.Equal(t, []bool{true, false, false, false}, look())
	fill(back)
	require.Equal(t, []bool{true, false, false, true}, look())
	require.Equal(t, []bool{true, false, false, true}, look(), "unchanged")
}

// flags returns the VmFlags in /proc/self/smaps of the mapping that holds a byte. hg
// means that huge pages are requested.
func flags(t *testing.T, b *byte) []string {
	t.Helper()
	address := uintptr(unsafe.Pointer(b))
	all, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	holds := false
	for line := range strings.Lines(string(all)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			holds = from <= address && address < to
		} else if rest, ok := strings.CutPrefix(line, "VmFlags:"); ok && holds {
			return strings.Fields(rest)
		}
	}
	require.Fail(t, "no mapping holds the byte")
	return nil
}
