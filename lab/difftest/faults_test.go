package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/zlimit/zlimit/oracle"
)

// startPair starts two redis-servers. It skips the test if none is installed.
func startPair(t *testing.T) (ref, other server) {
	t.Helper()
	if err := oracle.Find(); err != nil {
		t.Skip("no Redis to compare with: ", err)
	}
	for _, s := range []*server{&ref, &other} {
		started, end, err := startOracle("redis", firstNowMs)
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
	t *testing.T, timeout time.Duration, ref, ours server, n int, families ...string,
) (*campaign, string) {
	t.Helper()
	return runCampaignSeed(t, 1, timeout, ref, ours, n, families...)
}

// runCampaignSeed is runCampaign with another seed.
func runCampaignSeed(
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
	c, out := runCampaign(t, replyTimeout, ref, other, 6000)
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

// TestFaultsAreDetected plants faults in a correct server and checks that each is detected, and shrunk to a
// few lines.
func TestFaultsAreDetected(t *testing.T) {
	ref, sound := startPair(t)
	tests := []struct {
		name     string
		families []string
		fault    fault
		clock    func(nowMs int64) int64
		command  string // the command that differs; "" for any
		atMost   int    // lines of the shrunk round
		mute     bool   // there is no reply: the test waits for the timeout
		seed     uint64 // of the rounds, one that meets the fault early; 0 means 1
	}{
		{
			name: "a rank too high by one, from the fourth on", families: []string{"zset"}, command: "ZRANK",
			atMost: 5,
			seed:   3,
			fault: fault{change: func(args []string, r string) (string, bool) {
				if args[0] == "ZRANK" && r == ":3\r\n" {
					return ":4\r\n", false
				}
				return r, false
			}},
		},
		{
			name: "an error text with a letter changed", families: []string{"string"}, atMost: 3,
			fault: fault{change: func(_ []string, r string) (string, bool) {
				return strings.Replace(r, "-ERR value is not an integer", "-ERR value is no integer", 1),
					false
			}},
		},
		{
			name: "an invalidation that is missing", families: []string{"string"}, command: "PING", atMost: 7,
			seed:  5,
			fault: fault{drop: func(message string) bool { return strings.Contains(message, "s1") }},
		},
		{
			name: "PERSIST that does nothing", families: []string{"keys", "string"}, atMost: 5,
			fault: fault{answer: func(args []string) (string, bool) {
				return ":1\r\n", args[0] == "PERSIST" && len(args) == 2
			}},
		},
		{
			name: "a prefix removal that leaves everything", families: []string{"zset"}, atMost: 5,
			fault: fault{answer: func(args []string) (string, bool) {
				return ":1\r\n", args[0] == "ZREMRANGEBYRANK" && len(args) == 4 && args[2] == "0" &&
					args[3] == "0"
			}},
		},
		{
			name: "a double with few digits", families: []string{"zset"}, atMost: 4,
			seed: 5,
			fault: fault{change: func(_ []string, r string) (string, bool) {
				return strings.Replace(r, "$19\r\n0.10000000000000001\r\n", "$3\r\n0.1\r\n", 1), false
			}},
		},
		{
			name: "a difference inside EXEC only", families: []string{"tx", "zset"}, command: "EXEC",
			atMost: 8,
			fault: fault{change: func(args []string, r string) (string, bool) {
				if args[0] == "EXEC" {
					return strings.Replace(r, ":2\r\n", ":3\r\n", 1), false
				}
				return r, false
			}},
		},
		{
			name: "an EXEC that WATCH does not stop", families: []string{"tx", "keys"}, atMost: 6,
			fault: fault{answer: func(args []string) (string, bool) {
				return "+OK\r\n", args[0] == "WATCH" && len(args) > 1
			}},
		},
		{
			name: "a script's nil as an empty string", families: []string{"lua"}, atMost: 3,
			fault: fault{change: func(args []string, r string) (string, bool) {
				if strings.HasPrefix(args[0], "EVAL") && r == "$-1\r\n" {
					return "$0\r\n\r\n", false
				}
				return r, false
			}},
		},
		{
			name: "SCAN that omits a key", families: []string{"keys", "string"}, atMost: 4,
			fault: fault{change: func(args []string, r string) (string, bool) {
				if v, err := parse([]byte(r)); args[0] == "SCAN" && err == nil && len(v.elems) == 2 &&
					len(v.elems[1].elems) > 0 {
					return "*2\r\n$1\r\n0\r\n*0\r\n", false
				}
				return r, false
			}},
		},
		{
			name: "ZRANDMEMBER of a member that does not exist", families: []string{"zset"},
			command: "ZRANDMEMBER", atMost: 4,
			fault: fault{change: func(args []string, r string) (string, bool) {
				if args[0] == "ZRANDMEMBER" && len(args) == 2 && r[0] == '$' && r != "$-1\r\n" {
					return "$7\r\nno such\r\n", false
				}
				return r, false
			}},
		},
		{
			name: "fields of a listpack in another order", families: []string{"hash"}, command: "HKEYS",
			atMost: 4,
			fault: fault{change: func(args []string, r string) (string, bool) {
				v, err := parse([]byte(r))
				if args[0] != "HKEYS" || err != nil || v.kind != '*' || len(v.elems) < 2 {
					return r, false
				}
				swapped := "*" + itoa(len(v.elems)) + "\r\n"
				for i := range v.elems {
					text := v.elems[len(v.elems)-1-i].text
					swapped += "$" + itoa(len(text)) + "\r\n" + text + "\r\n"
				}
				return swapped, false
			}},
		},
		{
			name: "an intset in another order", families: []string{"set"}, command: "SMEMBERS", atMost: 4,
			seed: 3,
			fault: fault{change: func(args []string, r string) (string, bool) {
				if v, err := parse([]byte(r)); args[0] == "SMEMBERS" && err == nil && len(v.elems) == 2 {
					a, b := v.elems[0].text, v.elems[1].text
					return r[:4] + "$" + itoa(len(b)) + "\r\n" + b + "\r\n$" + itoa(len(a)) + "\r\n" + a +
						"\r\n", false
				}
				return r, false
			}},
		},
		{
			name: "SPOP of a member that does not exist", families: []string{"set"}, command: "SPOP",
			atMost: 5,
			fault: fault{change: func(args []string, r string) (string, bool) {
				if args[0] == "SPOP" && len(args) == 2 && r[0] == '$' && r != "$-1\r\n" {
					return "$7\r\nno such\r\n", false
				}
				return r, false
			}},
		},
		{
			name: "SSCAN that omits a member", families: []string{"set"}, command: "SSCAN", atMost: 4,
			fault: fault{change: func(args []string, r string) (string, bool) {
				if v, err := parse([]byte(r)); args[0] == "SSCAN" && err == nil && len(v.elems) == 2 &&
					len(v.elems[1].elems) > 0 {
					return "*2\r\n$1\r\n0\r\n*0\r\n", false
				}
				return r, false
			}},
		},
		{
			name: "a union with a wrong count", families: []string{"zset"}, command: "ZUNIONSTORE", atMost: 5,
			fault: fault{change: func(args []string, r string) (string, bool) {
				if args[0] == "ZUNIONSTORE" && r[0] == ':' && r != ":0\r\n" {
					return ":9" + r[1:], false
				}
				return r, false
			}},
		},
		{
			name: "HRANDFIELD of a field that does not exist", families: []string{"hash"},
			command: "HRANDFIELD", atMost: 4,
			fault: fault{change: func(args []string, r string) (string, bool) {
				if args[0] == "HRANDFIELD" && len(args) == 2 && r[0] == '$' && r != "$-1\r\n" {
					return "$7\r\nno such\r\n", false
				}
				return r, false
			}},
		},
		{
			name: "HSCAN that omits a field", families: []string{"hash"}, command: "HSCAN", atMost: 4,
			fault: fault{change: func(args []string, r string) (string, bool) {
				if v, err := parse([]byte(r)); args[0] == "HSCAN" && err == nil && len(v.elems) == 2 &&
					len(v.elems[1].elems) > 0 {
					return "*2\r\n$1\r\n0\r\n*0\r\n", false
				}
				return r, false
			}},
		},
		{
			name: "a closed connection", families: []string{"zset"}, command: "ZPOPMAX", atMost: 2,
			fault: fault{change: func(args []string, r string) (string, bool) {
				return r,
					args[0] == "ZPOPMAX"
			}},
		},
		{
			name: "a reply that never comes", families: []string{"string"}, command: "GETDEL", atMost: 2,
			mute:  true,
			fault: fault{answer: func(args []string) (string, bool) { return "", args[0] == "GETDEL" }},
		},
		{
			name: "a clock one millisecond late", families: []string{"keys", "string"}, atMost: 6,
			clock: func(nowMs int64) int64 { return nowMs - 1 },
		},
		{
			name:     "a key that expires at its deadline instead of after it",
			families: []string{"keys", "string"}, atMost: 6,
			seed: 3,
			fault: fault{change: func(args []string, r string) (string, bool) {
				if args[0] == "PTTL" && r == ":0\r\n" {
					return ":-2\r\n", false
				}
				return r, false
			}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ours := server{
				title: "faulty", addr: faultyProxy(t, sound.addr, test.fault),
				setClock: sound.setClock,
			}
			if test.clock != nil {
				ours.setClock = func(nowMs int64) error { return sound.setClock(test.clock(nowMs)) }
			}
			timeout := replyTimeout
			if test.mute {
				timeout = 2 * time.Second
			}
			c, out := runCampaignSeed(t, max(test.seed, 1), timeout, ref, ours, 30_000, test.families...)
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
