package engine_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// A countedDisk counts the syncs of files that are being written anew.
type countedDisk struct {
	disk.FS
	syncs atomic.Int64
}

func (d *countedDisk) Create(name string) (disk.File, error) {
	f, err := d.FS.Create(name)
	if strings.Contains(name, "temp-") && !strings.Contains(name, "manifest") {
		f = countedFile{f, d}
	}
	return f, err
}

type countedFile struct {
	disk.File
	on *countedDisk
}

func (f countedFile) Sync() error {
	f.on.syncs.Add(1)
	return f.File.Sync()
}

// TestIncrementalFsync checks that a large file is written to disk in pieces if its directive says so.
func TestIncrementalFsync(t *testing.T) {
	for directive, write := range map[string]func(*client){
		"rdb-save-incremental-fsync": func(c *client) { require.Equal(t, "OK", c.do("SAVE")) },
		"aof-rewrite-incremental-fsync": func(c *client) {
			c.do("BGREWRITEAOF")
			c.awaitInfo("aof_rewrite_in_progress:0")
		},
	} {
		t.Run(directive, func(t *testing.T) {
			d := &countedDisk{FS: crashdisk.New(1).FS()}
			p := start(t, d, append([]string{"--rdbcompression", "no"}, always...)...)
			defer p.Close()
			c := p.client(t)
			for _, key := range []string{"a", "b"} {
				c.do("SETRANGE " + key + " 4999999 x")
			}
			for value, syncs := range map[string]int64{"no": 1, "yes": 3} {
				require.Equal(t, "OK", c.do("CONFIG SET "+directive+" "+value))
				d.syncs.Store(0)
				write(c)
				require.Equal(t, syncs, d.syncs.Load(), value)
			}
		})
	}
}
