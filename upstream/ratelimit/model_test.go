package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/upstream/ratelimit"
)

// The model of the functions is the commands: random calls run as RL.* on one server and
// as functions on another, at the same instants. Every reply and every key must be the
// same.

var bytesOfInfo = regexp.MustCompile(`\$5\r\nbytes\r\n:\d+\r\n`)

// mask removes what an engine counts in its own way.
func mask(reply string) string { return bytesOfInfo.ReplaceAllString(reply, "bytes") }

// content returns what every key holds, and until when.
func (u *upstream) content(dump bool) string {
	keys := u.keys()
	kinds := u.ofEach("TYPE", keys)
	for i, key := range keys {
		u.send([]byte(u.deadlineCommand()), []byte(key))
		if read := readOf[kinds[i]]; dump || read == "" {
			u.send([]byte("DUMP"), []byte(key))
		} else {
			u.sendLine(fmt.Sprintf(read, key))
		}
	}
	var b strings.Builder
	for i, key := range keys {
		fmt.Fprintf(&b, "%s %s %s%q\n", key, kinds[i], u.deadline(u.reply()), u.reply())
	}
	return b.String()
}

// keys returns the keys, which are few beside those that a history may name.
func (u *upstream) keys() (keys []string) {
	lines := strings.Split(u.do("KEYS *"), "\r\n")
	for i := 2; i < len(lines); i += 2 {
		keys = append(keys, lines[i])
	}
	slices.Sort(keys)
	return keys
}

// readOf is the command that reads a key, for the reply of TYPE.
var readOf = map[string]string{
	"+string\r\n": "GET %s", "+zset\r\n": "ZRANGE %s 0 -1 WITHSCORES", "+hash\r\n": "HGETALL %s",
}

// ofEach returns the replies to a command of each key, which are sent together.
func (u *upstream) ofEach(command string, keys []string) (replies []string) {
	for _, key := range keys {
		u.send([]byte(command), []byte(key))
	}
	for range keys {
		replies = append(replies, string(u.reply()))
	}
	return replies
}

func (u *upstream) deadlineCommand() string {
	if u.old {
		return "PTTL"
	}
	return "PEXPIRETIME"
}

// deadline returns the reply of PEXPIRETIME for that of the deadline command.
func (u *upstream) deadline(reply []byte) []byte {
	left, err := strconv.ParseInt(strings.TrimSpace(string(reply[1:])), 10, 64)
	if !u.old || err != nil || left < 0 {
		return reply
	}
	return fmt.Appendf(nil, ":%d\r\n", u.nowMs+left)
}

var longNumber = regexp.MustCompile(`\d{16,}`)

// holdsLarge reports whether a key holds a number that a double may not.
func (u *upstream) holdsLarge() bool {
	for _, number := range longNumber.FindAllString(u.content(false), -1) {
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n >= 1<<53 {
			return true
		}
	}
	return false
}

// endsNow deletes keys that end with this millisecond because units were returned: an
// engine deletes a key when its deadline is set to the present.
func endsNow(native, below *upstream, line string, nowMs int64) {
	switch name, _, _ := strings.Cut(line, " "); name {
	case "RL.REFUND", "RL.SETTLE", "RL.CANCEL", "RL.MSETTLE", "RL.MCANCEL":
		for i, deadline := range native.ofEach("PEXPIRETIME", modelKeys) {
			key := modelKeys[i]
			if deadline == fmt.Sprintf(":%d\r\n", nowMs) && below.do("EXISTS "+key) == ":0\r\n" {
				native.do("DEL " + key)
			}
		}
	}
}

// compare runs a history and returns where the two first differ, "" if nowhere.
func compare(native, below *upstream, seed uint64, steps int) string {
	h := &history{r: rand.New(rand.NewPCG(seed, 18)), nowMs: beginMs}
	var trail []string
	for range steps {
		now := h.move()
		native.must(native.set(now))
		below.must(below.set(now))
		if exist := "EXISTS " + strings.Join(modelKeys, " "); native.do(exist) != below.do(exist) {
			return fmt.Sprintf("at %+d other keys exist: %v", now-startNowMs, trail)
		}
		var want, got, lines []string
		switch n := h.r.IntN(20); {
		case n == 0:
			line := h.byHand()
			lines, want, got = []string{line}, []string{native.do(line)}, []string{below.do(line)}
		case n <= 3:
			allow := h.allow()
			for range 1 + h.r.IntN(5) {
				lines = append(lines, allow+h.caller())
			}
			want, got = everyCall(native, lines), nil
			if want == nil {
				continue
			}
			got = below.callAll(lines)
		default:
			line := h.rateLimit()
			lines, want, got = []string{line}, []string{native.do(line)}, []string{below.call(line)}
		}
		trail = append(trail, fmt.Sprintf("%+d %s", now-startNowMs, strings.Join(lines, " | ")))
		trail = trail[max(0, len(trail)-12):]
		if strings.Contains(got[0], "above 9007199254740991") {
			if !native.holdsLarge() {
				return fmt.Sprintf("%s\nrefused without reason", strings.Join(trail, "\n"))
			}
			native.do("FLUSHALL")
			below.do("FLUSHALL")
			continue
		}
		for i := range want {
			if mask(want[i]) != mask(got[i]) {
				return fmt.Sprintf("%s\n%q instead of %q", strings.Join(trail, "\n"), got[i], want[i])
			}
		}
		endsNow(native, below, lines[0], now)
		w := strings.Split(native.content(!below.redis), "\n")
		g := strings.Split(below.content(!below.redis), "\n")
		for i := range w {
			if i >= len(g) || w[i] != g[i] {
				return fmt.Sprintf("%s\nthe keys differ:\n%q\ninstead of\n%q",
					strings.Join(trail, "\n"), g, w)
			}
		}
	}
	return ""
}

// everyCall runs calls one after the other, if their arguments are valid.
func everyCall(u *upstream, lines []string) (replies []string) {
	for _, line := range lines {
		if _, _, refusal := parse(u.t, line); refusal != "" {
			return nil
		}
	}
	for _, line := range lines {
		replies = append(replies, u.do(line))
	}
	return replies
}

func TestFunctionsAnswerAsTheCommands(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			below := startZlimit(t)
			below.load(ratelimit.Library())
			require.Empty(t, compare(startZlimit(t), below, seed, 1500))
		})
	}
}

// modelFaults are faults in the library that the comparison must find.
var modelFaults = []struct{ name, text, fault string }{
	{"a unit counts a millisecond longer", "(k.now - window + 1) * 1000", "(k.now - window) * 1000"},
	{
		"retention is the call's own window",
		"k.keep = log_keep(k, k.longest)", "k.keep = k.longest",
	},
	{"calls of a millisecond share an entry", "score = k.newest + 1", "score = k.newest"},
	{"units count as one", "units = tonumber(string.sub(member, colon + 1))", "units = 1"},
	{"a count begins one entry late", "log_index(k, score) - 1]", "log_index(k, score + 1) - 1]"},
	{"a wait is for the entry before", "return k.sums[i] > rank end", "return k.sums[i] >= rank end"},
	{"a part of an entry goes, the rest stays", "(score, part)", "(score, part + 1)"},
	{
		"the last window binds",
		"return retry_before >= 0 and (retry < 0 or retry > retry_before)", "return true",
	},
	{
		"a denied call counts",
		"if allowed > 0 and not has(flags, PEEK) then\n    used, remaining, reset",
		"if not has(flags, PEEK) then\n    used, remaining, reset",
	},
	{
		"a peek counts",
		"local peek, _, code = has(flags, PEEK), nil, nil", "local peek, _, code = false, nil, nil",
	},
	{
		"the second caller does not see the first",
		"local used = ceil_div(ahead, interval)\n",
		"if s.changed then ahead = 0 end local used = ceil_div(ahead, interval)\n",
	},
	{"a bucket leaves a millisecond early", "b.width - 1 + window - now", "b.width - 2 + window - now"},
	{"a part of a unit does not count", "if more then", "if false then"},
	{
		"a refund takes the oldest units",
		"call('ZREMRANGEBYRANK', key, through - removed, through - 1)",
		"call('ZREMRANGEBYRANK', key, 0, removed - 1)",
	},
	{"a settled hold is settled again", "if not h.settled then", "if true then"},
	{
		"one term is written although another denied",
		"  elseif not peek then\n    for i, t", "  end\n  if not peek then\n    for i, t",
	},
	{
		"what another term admitted counts in a reply that denies",
		"has(options, FULL) and not peek and terms or {}", "{}",
	},
	{
		"GCRA gives back what was full without the taking",
		"s.tat - min(s.interval * n, gcra_share(s, now, h))",
		"s.tat - min(s.interval * n, gcra_ahead(s, now))",
	},
	{"a slice of FIXED that has begun later gives back", "h.place == s.expire and", "true and"},
	{"the newest slice of COUNTER gives back", "if h.place == s.begin then", "if true then"},
	{"the newest bucket gives back", "local i = (b.newest - begin) / b.width + 1", "local i = 1"},
	{
		"a slot is not freed", "give_back = function(k) leases_release(k, k.term.id) end",
		"give_back = function() end",
	},
	{"a slot is not taken", "leases_grant(k, k.term.id, k.term.window)", "leases_commit(k)"},
	{"a hold of 0.1.0 is one entry", "(run and h.units - 1 or 0)", "0"},
	{"holds of 0.1.0 are not found", "if not text and not find(keys[1], '[{}]') then", "if false then"},
	{"the hold of other keys is settled", "if h.terms[i].key ~= keys[i] then", "if false then"},
	{"a hold keeps the first of its windows", "format('%.0f', longest(t))", "format('%.0f', t.window)"},
	{"an excess is not counted", "if held.excess > 0 then", "if false then"},
	{"more is released than counts", "min(max(h.units - actual, 0), held)", "max(h.units - actual, 0)"},
	{
		"a lease counts at its end",
		"expired = call('ZCOUNT', key, '-inf', now)", "expired = call('ZCOUNT', key, '-inf', '(' .. now)",
	},
	{"a second that is adopted ends when it begins", "last = last + 999", "last = last + 0"},
	{"a time in seconds is rounded down", "local time = ceil(", "local time = floor("},
	{"sums carry too late", "if low >= BASE then", "if low > BASE then"},
	{
		"the deadline stays",
		"elseif mode == '' or mode == 'keep' and expiry(key) > 0 then", "elseif mode ~= 'set' then",
	},
}

// faultSeeds are the seeds of the histories that look for faults, first those that find the most.
var faultSeeds = []uint64{6, 0, 4, 3, 1, 2, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}

func TestComparisonFindsFaults(t *testing.T) {
	for i, f := range modelFaults {
		if race.Enabled && i%8 != 0 {
			continue // what they share with others is the two servers, which some of them show as well as all
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, 1, strings.Count(ratelimit.Library(), f.text), "%q", f.text)
			native, below := startZlimit(t), startZlimit(t)
			below.load(strings.Replace(ratelimit.Library(), f.text, f.fault, 1))
			for _, seed := range faultSeeds {
				native.do("FLUSHALL")
				below.do("FLUSHALL")
				if found := compare(native, below, seed, 400); found != "" {
					return
				}
			}
			t.Fatal("not found")
		})
	}
}

func TestFunctionsOnRedis(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			below := startRedis(t)
			below.load(ratelimit.Library())
			require.Empty(t, compare(startZlimit(t), below, 100+seed, 300))
		})
	}
}

// Without functions the same decisions are a script.
func TestScriptsOnRedis(t *testing.T) {
	below := startRedis(t)
	below.loadScript(ratelimit.Script())
	require.Empty(t, compare(startZlimit(t), below, 100, 300))
}

// TestOtherReleases: so do the releases that ORACLE_SERVERS names, by functions or, before 7.0, by scripts.
func TestOtherReleases(t *testing.T) {
	if err := oracle.Find(); err != nil {
		t.Skip(err)
	}
	programs, err := oracle.Others()
	if err != nil {
		t.Skip(err)
	}
	for _, program := range programs {
		t.Run(filepath.Base(program), func(t *testing.T) {
			below := startRelease(t, program)
			if oracle.Release(program) >= 700 {
				below.load(ratelimit.Library())
			} else {
				below.old = true
				below.loadScript(ratelimit.Script())
			}
			for seed := range uint64(2) {
				below.do("FLUSHALL")
				require.Empty(t, compare(startZlimit(t), below, 100+seed, 300))
			}
		})
	}
}
