//go:build unix

package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scenario"
)

// Servers with an append-only file are killed by SIGKILL under load, repeatedly, and
// what they reload is compared with what clients saw acknowledged. (persist/aof's tests
// cover power cuts; a kill does not affect the page cache.)
var (
	kills    = flag.Int("kills", 6, "how often TestKilled kills a server, all modes together")
	killSeed = flag.Uint64("killseed", 1, "the seed of TestKilled's choices")
)

const crashClients = 4

// crashOps are the clients' commands. Each increments its own counter in its own way.
var crashOps = []string{
	"INCR %[1]s:incr",
	"RPUSH %[1]s:list x",
	"RL.ALLOW %[1]s:log 1000000 1h",
	"EVAL \"redis.call('incr', KEYS[1]) return redis.call('incr', KEYS[2])\" 2 %[1]s:lua %[1]s:lua2",
	"MULTI\r\nDECR %[1]s:from\r\nINCR %[1]s:to\r\nEXEC",
	"HINCRBY %[1]s:hash field 1",
}

// crashReads read the counters in the same order. Below are those that must equal
// another.
var crashReads = []string{
	"GET %[1]s:incr", "LLEN %[1]s:list", "ZCARD %[1]s:log", "GET %[1]s:lua", "GET %[1]s:to",
	"HGET %[1]s:hash field",
	"GET %[1]s:lua2", "GET %[1]s:from",
}

// A journal records the operations of one client in one run of the server, in order,
// and how many were acknowledged.
type journal struct {
	name  string
	ops   []uint8 // indices of crashOps; the last may be unanswered
	acked int     // number of ops answered
	times []ack   // of some of them
}

// An ack says that n operations had been answered at an instant.
type ack struct {
	n  int
	at time.Time
}

// durable returns how many operations must have survived a kill.
func (l *journal) durable(mode string, killed time.Time) int {
	if mode == "always" {
		return l.acked
	}
	n := 0
	for _, a := range l.times {
		if killed.Sub(a.at) > time.Second {
			n = a.n
		}
	}
	return n
}

// check compares counters with the journal. They must be those of a prefix of the
// operations, at least durable and at most those sent. It returns the length of the
// prefix.
func (l *journal) check(got []int, durable int) (survived int, err error) {
	kinds := len(crashOps)
	if got[kinds] != got[3] || got[kinds+1] != -got[4] {
		return 0, fmt.Errorf("%s: half a group came back: %v", l.name, got)
	}
	sum := 0
	for _, n := range got[:kinds] {
		sum += n
	}
	switch {
	case sum > len(l.ops):
		return 0, fmt.Errorf("%s: %d operations came back, %d were sent", l.name, sum, len(l.ops))
	case sum < durable:
		return 0, fmt.Errorf("%s: %d operations came back, %d must have", l.name, sum, durable)
	}
	want := make([]int, kinds)
	for _, op := range l.ops[:sum] {
		want[op]++
	}
	for i := range want {
		if want[i] != got[i] {
			return 0, fmt.Errorf("%s: the first %d operations count %v, what came back %v", l.name, sum, want,
				got[:kinds])
		}
	}
	return sum, nil
}

// truncate reduces the journal to what survived, which must not change any more.
func (l *journal) truncate(survived int) {
	l.ops, l.acked = l.ops[:survived], survived
	l.times = []ack{{n: survived}}
}

func TestJournal(t *testing.T) {
	t.Parallel()
	start := time.Now()
	l := &journal{
		name: "c", ops: []uint8{0, 1, 2, 3, 4, 5, 0}, acked: 6,
		times: []ack{{2, start}, {5, start.Add(2 * time.Second)}},
	}
	killed := start.Add(2500 * time.Millisecond)
	require.Equal(t, 6, l.durable("always", killed))
	require.Equal(t, 2, l.durable("everysec", killed))
	for _, c := range []struct {
		got     []int
		durable int
		want    string
	}{
		{[]int{2, 1, 1, 1, 1, 1, 1, -1}, 6, ""},
		{[]int{1, 1, 1, 1, 1, 1, 1, -1}, 6, ""},
		{[]int{1, 1, 0, 0, 0, 0, 0, 0}, 2, ""},
		{[]int{1, 1, 1, 1, 1, 0, 1, -1}, 6, "c: 5 operations came back, 6 must have"},
		{[]int{2, 1, 1, 1, 1, 2, 1, -1}, 6, "c: 8 operations came back, 7 were sent"},
		{
			[]int{1, 0, 1, 0, 0, 0, 0, 0},
			2,
			"c: the first 2 operations count [1 1 0 0 0 0], what came back [1 0 1 0 0 0]",
		},
		{[]int{1, 1, 1, 1, 0, 0, 0, 0}, 0, "c: half a group came back: [1 1 1 1 0 0 0 0]"},
		{[]int{1, 1, 1, 1, 1, 0, 1, 0}, 0, "c: half a group came back: [1 1 1 1 1 0 1 0]"},
	} {
		_, err := l.check(c.got, c.durable)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	modes := []string{"always", "everysec", "no"}
	for i, mode := range modes {
		times := *kills / len(modes)
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			killOften(t, mode, times, rand.New(rand.NewPCG(*killSeed, uint64(i))))
		})
	}
}

// killOften runs and kills a server repeatedly on one directory.
func killOften(t *testing.T, mode string, times int, rng *rand.Rand) {
	dir := t.TempDir()
	var (
		all     []*journal // of every run so far
		killed  time.Time
		lost    int
		answers int
	)
	for life := 0; life <= times; life++ {
		words, _ := anyPort(t)
		p := start(t, append(words, "--dir", dir, "--appendonly", "yes", "--appendfsync", mode,
			"--auto-aof-rewrite-min-size", "128kb", "--auto-aof-rewrite-percentage", "50")...)
		go func() { _, _ = io.Copy(io.Discard, p.stdout) }()
		c := p.dial(t)
		for strings.HasPrefix(c.ask(t, "DBSIZE"), "-LOADING") {
			continue // until it has loaded
		}
		for _, l := range all {
			survived, err := l.check(c.counts(t, l.name), l.durable(mode, killed))
			require.NoError(t, err, "mode %s, seed %d, after kill %d", mode, *killSeed, life)
			lost += len(l.ops) - survived
			l.truncate(survived)
		}
		if life == times {
			p.kill(t)
			break
		}
		var journals []*journal
		journals, killed = p.work(t, fmt.Sprintf("%s:%d", mode, life), 200+rng.Int64N(4000), rng)
		for _, l := range journals {
			answers += l.acked
		}
		all = append(all, journals...)
	}
	t.Logf("%d kills, %d operations answered, %d lost (sent, and not answered or not yet due on disk)", times,
		answers, lost)
}

// kill sends SIGKILL.
func (p *process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Kill())
	_ = p.cmd.Wait() // it was killed
}

// work runs clients until they have seen the number of answers in total, then kills the
// server under load, not before killed.
func (p *process) work(
	t *testing.T, name string, answers int64, rng *rand.Rand,
) (journals []*journal, killed time.Time) {
	var (
		all    sync.WaitGroup
		seen   atomic.Int64
		enough = make(chan struct{})
	)
	journals = make([]*journal, crashClients)
	for i := range journals {
		l := &journal{name: fmt.Sprintf("%s:%d", name, i)}
		journals[i] = l
		c, own := p.dial(t), rand.New(rand.NewPCG(rng.Uint64(), 0))
		all.Go(func() {
			for {
				op := uint8(own.IntN(len(crashOps)))
				l.ops = append(l.ops, op)
				if _, err := fmt.Fprintf(c, crashOps[op]+"\r\n", l.name); err != nil {
					return
				}
				for range 1 + strings.Count(crashOps[op], "\r\n") {
					reply, err := c.value()
					if err != nil {
						return
					}
					if isError(reply) {
						t.Error(reply)
						return
					}
				}
				if l.acked++; l.acked%64 == 0 {
					l.times = append(l.times, ack{l.acked, time.Now()})
				}
				if seen.Add(1) == answers {
					close(enough)
				}
			}
		})
	}
	// Snapshots and rewrites go on meanwhile. That one is already under way is
	// expected.
	c, orders := p.dial(t), []string{"BGREWRITEAOF", "BGSAVE", "PING"}
	all.Go(func() {
		for i := 0; ; i++ {
			if _, err := io.WriteString(c, orders[i%len(orders)]+"\r\n"); err != nil {
				return
			}
			if _, err := c.value(); err != nil {
				return
			}
			for mark := seen.Load(); seen.Load() < mark+50; {
				if _, err := io.WriteString(c, "PING\r\n"); err != nil {
					return
				}
				if _, err := c.value(); err != nil {
					return
				}
			}
		}
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		all.Wait()
	}()
	select {
	case <-enough:
	case <-ended:
		require.Fail(t, "the server went away", "stderr: %s", &p.stderr)
	}
	killed = time.Now() // later it would say that what was just answered was answered long before
	p.kill(t)
	<-ended
	return journals, killed
}

// counts reads the counters of a client's operations.
func (c *client) counts(t *testing.T, name string) []int {
	t.Helper()
	got := make([]int, len(crashReads))
	for i, read := range crashReads {
		c.send(t, fmt.Sprintf(read, name)+"\r\n")
		reply, err := c.value()
		require.NoError(t, err)
		if reply != "" {
			got[i], err = strconv.Atoi(reply)
			require.NoError(t, err, read)
		}
	}
	return got
}

// isError reports whether a reply is an error and not a negative number.
func isError(reply string) bool {
	return len(reply) > 1 && reply[0] == '-' && 'A' <= reply[1] && reply[1] <= 'Z'
}

// value reads a reply: an array without its brackets, nil as "", an error with its minus.
func (c *client) value() (string, error) {
	reply, err := scenario.ReadReply(c.r, nil)
	if err != nil {
		return "", err
	}
	text, err := scenario.Show(reply)
	switch {
	case reply[0] == '-':
		text = "-" + text
	case reply[0] == '*':
		text = strings.Trim(text, "[]")
	case text == "(nil)":
		text = ""
	}
	return text, err
}
