package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// wire returns the replies that text notates, as in testdata/exceptions.txt.
func wire(text string) (out string) {
	words := strings.Fields(strings.NewReplacer("[", "[ ", "]", " ]").Replace(text))
	var next func() string
	next = func() string {
		w := words[0]
		words = words[1:]
		kind, isArray := strings.CutSuffix(w, "[")
		rest := strings.ReplaceAll(w[1:], "_", " ")
		switch {
		case isArray:
			n, body := 0, ""
			for ; words[0] != "]"; n++ {
				body += next()
			}
			words = words[1:]
			if kind == "%" {
				n /= 2
			}
			return cmp.Or(kind, "*") + itoa(n) + "\r\n" + body
		case w == "nil":
			return "$-1\r\n"
		case w == "nil*":
			return "*-1\r\n"
		case strings.ContainsAny(w[:1], ":+-"):
			return w[:1] + rest + "\r\n"
		case strings.ContainsAny(w[:1], "$="):
			return w[:1] + itoa(len(rest)) + "\r\n" + rest + "\r\n"
		}
		return "$" + itoa(len(w)) + "\r\n" + strings.ReplaceAll(w, "_", " ") + "\r\n"
	}
	for len(words) > 0 {
		out += next()
	}
	return out
}

// rows returns the lines of a file in testdata, split at their bars.
func rows(t *testing.T, name string) (out [][]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, strings.Split(strings.TrimSpace(line), " | "))
		}
	}
	return out
}

// TestEveryExceptionCanFail has, for each row of the list, a reply that it must allow and one that it must
// reject. A row without a case fails the test.
func TestEveryExceptionCanFail(t *testing.T) {
	tested := map[string]bool{}
	for _, row := range rows(t, "exceptions.txt") {
		s := step{args: strings.Fields(row[0])}
		name, ref, allowed, rejected := commandName(s.args), wire(row[1]), wire(row[2]), wire(row[3])
		tested[name] = true
		compare := func(j checker, ours string) string {
			return j.check(s, reply{raw: []byte(ref)}, reply{raw: []byte(ours)})
		}
		running := checker{runningClock: true}
		if d := compare(running, ref); d != "" {
			t.Errorf("%s: equal bytes differ: %s", name, d)
		}
		if d := compare(running, allowed); d != "" {
			t.Errorf("%s: %q is not allowed: %s", name, allowed, d)
		}
		if exceptions[name].when == runningClock && compare(checker{}, allowed) == "" {
			t.Errorf("%s: allowed although the clocks are held", name)
		}
		if compare(running, rejected) == "" {
			t.Errorf("%s: %q is accepted for %q", name, rejected, ref)
		}
	}
	for name := range exceptions {
		if !tested[name] {
			t.Errorf("%s: no case", name)
		}
	}
	if len(tested) != len(exceptions) {
		t.Errorf("cases of %d commands for %d exceptions", len(tested), len(exceptions))
	}
}

func TestChecker(t *testing.T) {
	var j checker
	title, different := "", ""
	end := func() {
		if verdict, _, _ := strings.Cut(title, ":"); title != "" && (verdict == "same") != (different == "") {
			t.Errorf("%s: %q", title, different)
		}
	}
	for _, row := range rows(t, "checker.txt") {
		if len(row) == 1 {
			end()
			j, title, different = checker{}, row[0], ""
			continue
		}
		line, inner, _ := strings.Cut(row[0], " / ")
		line, glue := strings.CutPrefix(line, "& ")
		s := step{args: strings.Fields(line), glue: glue, pushes: line == "PING"}
		if inner != "" {
			s.inner = strings.Fields(inner)
		}
		ours := reply{raw: []byte(wire(row[len(row)-1]))}
		if row[len(row)-1] == "nothing" {
			ours = reply{fail: "connection closed"}
		}
		different += j.check(s, reply{raw: []byte(wire(row[1]))}, ours)
	}
	end()
	interpreter := func(line int, text string) reply {
		return reply{raw: fmt.Appendf(nil, "-ERR user_script:%d: %s script: "+
			"1234567890123456789012345678901234567890, on @user_script:1.\r\n", line, text)}
	}
	eval, nilIndex := step{args: strings.Fields("EVAL x 0")}, "attempt to index a nil value"
	for _, c := range []struct {
		ref, ours reply
		same      bool
	}{
		{interpreter(1, nilIndex), interpreter(1, "cannot index nil"), true},
		{interpreter(1, nilIndex), interpreter(2, "x"), false},
		{
			interpreter(1, "Script attempted to access nonexistent global variable 'x'"),
			interpreter(1, "no global x"), false,
		},
		{interpreter(1, "mine"), interpreter(1, "yours"), false},
	} {
		if d := new(checker).check(eval, c.ref, c.ours); (d == "") != c.same {
			t.Errorf("%s for %s: %q", c.ours, c.ref, d)
		}
	}
}

func TestAppendReply(t *testing.T) {
	whole := []string{
		"+OK\r\n", "-ERR x\r\n", ":1\r\n", "$-1\r\n", "$0\r\n\r\n", "$4\r\na\r\nb\r\n", "*-1\r\n", "*0\r\n",
		"*2\r\n:1\r\n*1\r\n$1\r\na\r\n", "_\r\n", "#t\r\n", ",1.5\r\n",
		"(123\r\n", "!5\r\nERR x\r\n", "=5\r\ntxt:a\r\n", "%1\r\n+a\r\n:1\r\n", "~2\r\n+a\r\n+b\r\n",
		">1\r\n+a\r\n", "|1\r\n+a\r\n:1\r\n:2\r\n",
	}
	for _, raw := range whole {
		r := bufio.NewReader(strings.NewReader(raw + "+next\r\n"))
		got, err := appendReply(nil, r, 0)
		if err != nil || string(got) != raw {
			t.Errorf("%q: %q, %v", raw, got, err)
		}
		if rest, _ := appendReply(nil, r, 0); string(rest) != "+next\r\n" {
			t.Errorf("%q: what follows is %q", raw, rest)
		}
		if raw[0] != '|' {
			if _, err := parse([]byte(raw)); err != nil {
				t.Errorf("%q: %v", raw, err)
			}
		}
	}
	for _, raw := range []string{
		"", "\r\n", "+OK\n", "?\r\n", "$x\r\n", "$-2\r\n", "$2\r\nabc\r\n",
		"$2\r\nab", "*x\r\n", "*-2\r\n", "*2\r\n:1\r\n", strings.Repeat("*1\r\n", 100) + ":1\r\n",
	} {
		if got, err := appendReply(nil, bufio.NewReader(strings.NewReader(raw)), 0); err == nil {
			t.Errorf("%q is accepted as %q", raw, got)
		}
	}
}

func TestRoundsAreDeterministic(t *testing.T) {
	for number := range 5 {
		a, b := generate(7, number, 500, plan{}), generate(7, number, 500, plan{})
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("round %d is not deterministic", number)
		}
		if reflect.DeepEqual(a, generate(8, number, 500, plan{})) ||
			reflect.DeepEqual(a, generate(7, number+1, 500, plan{})) {
			t.Fatalf("round %d does not depend on seed and number", number)
		}
		last := roundStartMs(number)
		for _, s := range a {
			if s.clockMs != 0 && s.clockMs <= last {
				t.Fatalf("round %d: the clock goes from %d to %d", number, last, s.clockMs)
			}
			last = max(last, s.clockMs)
		}
		if last >= roundStartMs(number+1) {
			t.Fatalf("round %d ends at %d, after the next begins", number, last)
		}
	}
}

// TestClockMovesHitDeadlines checks that some moves end at a deadline, a millisecond before and a millisecond
// after.
func TestClockMovesHitDeadlines(t *testing.T) {
	met := map[int64]int{}
	for number := range 40 {
		nowMs := roundStartMs(number)
		due := map[int64]bool{}
		for _, s := range generate(3, number, 500, plan{}) {
			if s.clockMs > 0 {
				for d := int64(-1); d <= 1; d++ {
					if due[s.clockMs-d] {
						met[d]++
					}
				}
				nowMs = s.clockMs
			}
			if len(s.args) > 2 && strings.EqualFold(s.args[0], "PEXPIRE") {
				if v, err := parse([]byte(":" + s.args[2] + "\r\n")); err == nil && len(v.text) < 12 {
					var ms int64
					for _, c := range v.text {
						ms = ms*10 + int64(c-'0')
					}
					due[nowMs+ms] = true
				}
			}
		}
	}
	for d := int64(-1); d <= 1; d++ {
		if met[d] == 0 {
			t.Errorf("no clock move ends %d ms from a deadline: %v", d, met)
		}
	}
}

func TestRunningClockRoundsAvoidDeadlines(t *testing.T) {
	for number := range 20 {
		for _, s := range generate(5, number, 500, plan{runningClock: true}) {
			if s.clockMs > 0 {
				t.Fatalf("round %d moves a clock that cannot be held", number)
			}
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"": `""`, "a": "a", "a b": `"a b"`, "\x00\"\\": `"\x00\"\\"`,
		"\r\n": `"\x0d\n"`, "0100": "0100",
	} {
		if got := quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	if got := (step{args: []string{"SET", "a b", ""}}).String(); got != `SET "a b" ""` {
		t.Error(got)
	}
}

func TestFlags(t *testing.T) {
	for _, argv := range [][]string{
		{},
		{"-seed", "x", "-self"},
		{"-family", "nosuch", "-self"},
		{"-nosuch"},
	} {
		var out, errOut bytes.Buffer
		if code := run(argv, &out, &errOut); code != 2 || errOut.Len() == 0 {
			t.Errorf("%v: exit %d, %q", argv, code, errOut.String())
		}
	}
}
