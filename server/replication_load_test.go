package server_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// load sends a master commands on a connection of their own until stop is called, which returns when they are
// answered.
func (f *fabric) load(master *node, number int) (stop func()) {
	w := master.dial(f.t)
	i := 0
	return meanwhile(f.t, func() error {
		db, n := i%3, i%50
		lines := fmt.Sprintf("SELECT %d\r\nMULTI\r\nINCR a\r\nINCR b\r\nEXEC\r\n", db)
		lines += fmt.Sprintf("SET k:%d:%d v%d PX %d\r\n", number, n, i, 1_000_000+i)
		lines += fmt.Sprintf("RPUSH l:%d x%d\r\nLPOP l:%d\r\nZADD z %d m%d\r\n", n, i, n, i, n)
		lines += fmt.Sprintf("SADD s:%d %d\r\nSPOP s:%d\r\n", n, i, n)
		lines += fmt.Sprintf("DEL k:%d:%d\r\nHINCRBY h f%d 1\r\n", number, (n+25)%50, n)
		i++
		return w.exchange(lines)
	})
}

// requireWholeGroups requires that a replica shows no half of a transaction.
func requireWholeGroups(t *testing.T, replica *node) {
	t.Helper()
	values := strings.Split(replica.do(t, "MGET a b"), "\r\n")
	if values[0] == "*2" { // not while it loads
		half := len(values)/2 + 1
		require.Equal(t, values[1:half], values[half:])
	}
}

// TestCopyUnderLoad: a replica that gets its copy while the master is written to, misses and repeats nothing.
func TestCopyUnderLoad(t *testing.T) {
	t.Parallel()
	pairings(t, func(t *testing.T, f *fabric, master, replica *node) {
		stops := []func(){f.load(master, 0), f.load(master, 1)}
		for range 3 {
			f.follow(replica, master)
			requireWholeGroups(t, replica)
			require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
			replica.fill(t, "SET own v") // so that the next one needs a copy
		}
		f.follow(replica, master)
		for _, stop := range stops {
			stop()
		}
		f.requireSame(replica, master)
	})
}

// TestCutsUnderLoad: a link that is cut again and again loses nothing and shows no half of a transaction.
func TestCutsUnderLoad(t *testing.T) {
	t.Parallel()
	pairings(t, func(t *testing.T, f *fabric, master, replica *node) {
		master.fill(t, "CONFIG SET repl-backlog-size 100mb")
		f.follow(replica, master)
		stops := []func(){f.load(master, 0), f.load(master, 1)}
		cuts := 10
		if replica.kind == redis {
			cuts = 2 // it connects again once a second
		}
		for i := range cuts {
			require.Equal(t, ":1", master.do(t, "CLIENT KILL TYPE replica"))
			replica.jumpOurs(t, 2*time.Second)
			f.until(func() bool {
				requireWholeGroups(t, replica)
				_, partial := master.counts(t)
				return partial == strconv.Itoa(i+1) && replica.field(t, "master_link_status") == "up"
			})
		}
		for _, stop := range stops {
			stop()
		}
		f.requireSame(replica, master)
		full, _ := master.counts(t)
		require.Equal(t, "1", full)
	})
}
