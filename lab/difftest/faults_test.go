package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zlimit/zlimit/oracle"
)

// startPair starts two redis-servers. It skips the test if none is installed.
func startPair(t *testing.T) (ref, other server) {
	t.Helper()
	if err := oracle.Find(); err != nil {
		t.Skip("make test needs Go and nothing else, and there is no redis-server to compare with: ", err)
	}
	for _, s := range []*server{&ref, &other} {
		started, end, err := startOracle("redis", firstNowMs, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(end)
		*s = started
	}
	return ref, other
}

// runCampaign runs n commands of the families against the pair and returns the campaign and its output.
func runCampaign(
	t *testing.T, seed uint64, timeout time.Duration, ref, ours server, n int, families ...string,
) (*campaign, string) {
	t.Helper()
	var out bytes.Buffer
	d := &runner{ref: ref, ours: ours, timeout: timeout}
	t.Cleanup(d.closeLinks)
	c := &campaign{
		settings: &settings{perRound: 300, only: -1, keepGoing: 1},
		runner:   d, out: &out, stats: newStats(), seen: map[string]int{},
		plan: plan{families: families},
	}
	if err := c.seed(seed, n); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return c, out.String()
}

func TestTwoRedisServersDoNotDiffer(t *testing.T) {
	ref, other := startPair(t)
	c, out := runCampaign(t, 1, replyTimeout, ref, other, 6000)
	if len(c.seen) > 0 {
		t.Fatalf("a false alarm:\n%s", out)
	}
	errors, nils := c.stats.shares()
	if errors < 8 || errors > 25 || nils > 15 {
		t.Errorf("%.1f%% errors and %.1f%% nils: the rounds are too shallow to find anything", errors, nils)
	}
	if c.stats.largest < 128 {
		t.Errorf("the longest reply has %d elements: no set grew past Redis' listpack", c.stats.largest)
	}
	if c.stats.exec.done == 0 || c.stats.exec.aborted == 0 || c.stats.exec.refused == 0 {
		t.Errorf("EXEC never %+v", c.stats.exec)
	}
}

// changed is a fault that changes replies to a command, or to any for "".
func changed(command string, change func(r string) string) fault {
	return fault{change: func(args []string, r string) (string, bool) {
		if command == "" || strings.HasPrefix(args[0], command) {
			r = change(r)
		}
		return r, false
	}}
}

// replaced is a fault that replaces a part of replies to a command.
func replaced(command, part, by string) fault {
	return changed(command, func(r string) string { return strings.Replace(r, part, by, 1) })
}

// invented is a fault that replaces each bulk string with which a command replies.
func invented(command string) fault {
	return changed(command, func(r string) string {
		if r[0] == '$' && r != "$-1\r\n" {
			return "$7\r\nno such\r\n"
		}
		return r
	})
}

// omitting is a fault that ends a scan with nothing where something was found.
func omitting(command string) fault {
	return changed(command, func(r string) string {
		if v, err := parse([]byte(r)); err == nil && len(v.elems) == 2 && len(v.elems[1].elems) > 0 {
			return "*2\r\n$1\r\n0\r\n*0\r\n"
		}
		return r
	})
}

// reversed is a fault that turns round what a command lists.
func reversed(command string) fault {
	return changed(command, func(r string) string {
		v, err := parse([]byte(r))
		if err != nil || len(v.elems) < 2 {
			return r
		}
		out := r[:1] + itoa(len(v.elems)) + "\r\n"
		for _, e := range slices.Backward(v.elems) {
			out += "$" + itoa(len(e.text)) + "\r\n" + e.text + "\r\n"
		}
		return out
	})
}

// claimed is a fault that answers a command itself. The pattern has its arguments, * for any.
func claimed(pattern, reply string) fault {
	words := strings.Fields(pattern)
	return fault{answer: func(args []string) (string, bool) {
		return reply, slices.EqualFunc(words, args, func(w, a string) bool { return w == "*" || w == a })
	}}
}

// TestFaultsAreDetected plants faults in a correct server and checks that each is detected, and shrunk to a
// few lines.
func TestFaultsAreDetected(t *testing.T) {
	ref, sound := startPair(t)
	watch := fault{answer: func(args []string) (string, bool) {
		return "+OK\r\n", args[0] == "WATCH" && len(args) > 1
	}}
	mute := fault{answer: func(args []string) (string, bool) { return "", args[0] == "GETDEL" }}
	closing := fault{change: func(args []string, r string) (string, bool) { return r, args[0] == "ZPOPMAX" }}
	missing := fault{drop: func(message string) bool { return strings.Contains(message, "s1") }}
	count := changed("ZUNIONSTORE", func(r string) string {
		if r[0] == ':' && r != ":0\r\n" {
			return ":9" + r[1:]
		}
		return r
	})
	for _, test := range []struct {
		name     string
		families string
		command  string // the command that differs; "" for any
		atMost   int    // lines of the shrunk round
		seed     uint64 // of the rounds, one that meets the fault early
		fault    fault
	}{
		{
			"a rank too high by one, from the fourth on", "zset", "ZRANK", 5, 3,
			replaced("ZRANK", ":3\r\n", ":4\r\n"),
		},
		{
			"an error text with a letter changed", "string", "", 3, 1,
			replaced("", "-ERR value is not an integer", "-ERR value is no integer"),
		},
		{"an invalidation that is missing", "string", "PING", 7, 5, missing},
		{"PERSIST that does nothing", "keys string", "", 5, 1, claimed("PERSIST *", ":1\r\n")},
		{
			"a prefix removal that leaves everything", "zset", "", 5, 5,
			claimed("ZREMRANGEBYRANK * 0 0", ":1\r\n"),
		},
		{
			"a double with few digits", "zset", "", 4, 5,
			replaced("", "$19\r\n0.10000000000000001\r\n", "$3\r\n0.1\r\n"),
		},
		{"a difference inside EXEC only", "tx zset", "EXEC", 8, 5, replaced("EXEC", ":2\r\n", ":3\r\n")},
		{"an EXEC that WATCH does not stop", "tx keys", "", 6, 7, watch},
		{"a script's nil as an empty string", "lua", "", 3, 7, replaced("EVAL", "$-1\r\n", "$0\r\n\r\n")},
		{"SCAN that omits a key", "keys string", "", 4, 1, omitting("SCAN")},
		{"ZRANDMEMBER of a member that does not exist", "zset", "ZRANDMEMBER", 4, 4, invented("ZRANDMEMBER")},
		{"fields of a listpack in another order", "hash", "HKEYS", 4, 7, reversed("HKEYS")},
		{"an intset in another order", "set", "SMEMBERS", 4, 3, reversed("SMEMBERS")},
		{"SPOP of a member that does not exist", "set", "SPOP", 5, 7, invented("SPOP")},
		{"SSCAN that omits a member", "set", "SSCAN", 4, 2, omitting("SSCAN")},
		{"a union with a wrong count", "zset", "ZUNIONSTORE", 5, 2, count},
		{"HRANDFIELD of a field that does not exist", "hash", "HRANDFIELD", 4, 1, invented("HRANDFIELD")},
		{"HSCAN that omits a field", "hash", "HSCAN", 4, 1, omitting("HSCAN")},
		{"a closed connection", "zset", "ZPOPMAX", 2, 1, closing},
		{"a reply that never comes", "string", "GETDEL", 2, 1, mute},
		{"a clock one millisecond late", "keys string", "", 6, 4, fault{}},
		{
			"a key that expires at its deadline instead of after it", "keys string", "", 6, 3,
			replaced("PTTL", ":0\r\n", ":-2\r\n"),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			ours := server{
				title: "faulty", addr: faultyProxy(t, sound.addr, test.fault), setClock: sound.setClock,
			}
			timeout := replyTimeout
			switch test.name {
			case "a clock one millisecond late":
				ours.setClock = func(nowMs int64) error { return sound.setClock(nowMs - 1) }
			case "a reply that never comes":
				timeout = 2 * time.Second // the test waits for it
			}
			c, out := runCampaign(t, test.seed, timeout, ref, ours, 30_000, strings.Fields(test.families)...)
			if len(c.seen) != 1 {
				t.Fatalf("%d differences found\n%s", len(c.seen), out)
			}
			if !strings.Contains(out, "DIFFERENCE 1: "+test.command) {
				t.Errorf("the difference is not about %s\n%s", test.command, out)
			}
			if lines := strings.Count(out, "\n    ["); lines == 0 || lines > test.atMost {
				t.Errorf("%d lines, want 1 to %d\n%s", lines, test.atMost, out)
			}
		})
	}
}
