package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk/crashdisk"
	"github.com/zlimit/zlimit/race"
)

const (
	accounts = 40
	each     = 1000
)

// sumOf loads copies of files and returns the sum of the accounts.
func sumOf(t *testing.T, d *crashdisk.Disk, prefix string, directives ...string) int {
	t.Helper()
	copied := crashdisk.New(1)
	for _, name := range d.Names() {
		if strings.HasPrefix(name, prefix) && !strings.Contains(name, "temp-") {
			copied.Put(name, d.Bytes(name))
		}
	}
	p := start(t, copied.FS(), directives...)
	defer p.Close()
	c := p.client(t)
	sum := 0
	for i := range accounts {
		n, err := strconv.Atoi(c.do(fmt.Sprint("GET a", i)))
		require.NoError(t, err)
		sum += n
	}
	return sum
}

// TestSumsInEveryFile moves units between keys in MULTI, from several clients, while
// files are written. Every file holds one instant of all shards: the sum is right.
func TestSumsInEveryFile(t *testing.T) {
	rounds := 8
	if race.Enabled || testing.Short() {
		rounds = 3
	}
	d := crashdisk.New(1)
	p := start(t, d.FS(), "--appendonly", "yes", "--appendfsync", "no")
	admin := p.client(t)
	for i := range accounts {
		admin.do(fmt.Sprint("SET a", i, " ", each))
	}
	var movers sync.WaitGroup
	end := make(chan struct{})
	for m := range 3 {
		c := p.client(t)
		movers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(m), 1))
			for {
				select {
				case <-end:
					return
				default:
				}
				from, to, n := rng.IntN(accounts), rng.IntN(accounts), 1+rng.IntN(9)
				c.do("MULTI")
				c.do(fmt.Sprintf("DECRBY a%d %d", from, n))
				c.do(fmt.Sprintf("INCRBY a%d %d", to, n))
				c.do("EXEC")
			}
		})
	}
	for round := range rounds {
		require.Equal(t, "OK", admin.do("SAVE"))
		require.Equal(t, accounts*each, sumOf(t, d, "dump.rdb"), "SAVE %d", round)
		require.Equal(t, "Background saving started", admin.do("BGSAVE"))
		admin.awaitInfo("rdb_bgsave_in_progress:0")
		require.Equal(t, accounts*each, sumOf(t, d, "dump.rdb"), "BGSAVE %d", round)
		if round%2 == 1 {
			admin.do("CONFIG SET aof-use-rdb-preamble no")
		}
		require.Equal(t, "Background append only file rewriting started", admin.do("BGREWRITEAOF"))
		admin.awaitInfo("aof_rewrite_in_progress:0")
		require.Contains(t, admin.do("INFO persistence"), "aof_last_bgrewrite_status:ok")
		require.Equal(t, accounts*each, sumOf(t, d, "appendonlydir", "--appendonly", "yes"),
			"BGREWRITEAOF %d", round)
	}
	close(end)
	movers.Wait()
	require.NoError(t, p.Close())
	require.Equal(t, accounts*each, sumOf(t, d, "appendonlydir", "--appendonly", "yes"))
}

// TestSumOfFindsALoss checks that the comparison fails if a unit is missing.
func TestSumOfFindsALoss(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS())
	c := p.client(t)
	for i := range accounts {
		c.do(fmt.Sprint("SET a", i, " ", each))
	}
	c.do("DECR a7")
	require.Equal(t, "OK", c.do("SAVE"))
	require.Equal(t, accounts*each-1, sumOf(t, d, "dump.rdb"))
	require.NoError(t, p.Close())
}
