package engine_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/scenario"
)

// The documents' limiters, as the commands that their clients send, in testdata/limiters.cases. Each runs
// twice: with the clock held, where the decisions are those that redis-server
// gave the same clients at the same instants (compat/ records them), and with
// the clock moved to every instant, where keys expire on the way and a model
// with maps (flows_model_test.go) says what must come out.

// A flow is one limiter of testdata/limiters.cases.
type flow struct {
	name     string
	instants []int64 // milliseconds from startNowMs, in the order of the hits; none: it is for RL.DOCTOR only
	redis    string  // what redis-server let through: + allowed, - denied, ! failed
	keys     []string
	examined bool     // RL.DOCTOR has
	problems []string // these
	steps    []flowStep
}

// A flowStep is a command of a hit, or, if it has a pattern, what ends the hit.
type flowStep struct {
	words [][]byte
	re    *regexp.Regexp
	then  bool // that matches
	ends  rune
}

// limiters reads testdata/limiters.cases, and the scripts there by their names.
var limiters = sync.OnceValues(func() (flows []flow, scripts map[string]string) {
	f, err := scenario.ReadFile("testdata/limiters.cases", "script", "then", "else", "instants", "decides",
		"keys", "doctor")
	if err != nil {
		panic(err)
	}
	scripts = map[string]string{}
	for _, section := range f.Sections {
		one := flow{name: section.Title, keys: []string{"limiter"}}
		for _, step := range section.Steps {
			if step.Action == scenario.Command {
				one.steps = append(one.steps, flowStep{words: step.Args})
				continue
			}
			words, _ := scenario.Words(step.Text) // none behind @doctor
			switch word := string(step.Args[0]); word {
			case "script":
				scripts[string(words[0])] = string(words[1])
			case "then", "else":
				one.steps = append(one.steps, flowStep{
					words[2:], regexp.MustCompile(string(words[1])), word == "then", rune(words[0][0]),
				})
			case "instants":
				one.instants = instantsOf(strings.Fields(step.Text))
			case "decides":
				one.redis = spellOut(step.Text)
			case "keys":
				one.keys = strings.Fields(step.Text)
			case "doctor":
				one.examined = true
				if step.Text != "" {
					one.problems = append(one.problems, step.Text)
				}
			}
		}
		flows = append(flows, one)
	}
	return flows, scripts
})

// documentFlows returns the limiters whose decisions redis-server has recorded.
func documentFlows() []flow {
	flows, _ := limiters()
	return slices.DeleteFunc(slices.Clone(flows), func(f flow) bool { return len(f.instants) == 0 })
}

func scriptOf(name string) string {
	_, scripts := limiters()
	return scripts[name]
}

// instantsOf returns numbers, and those from A on as far as B for A..B/STEP.
func instantsOf(words []string) (out []int64) {
	for _, word := range words {
		var first, last, step int64
		if n, _ := fmt.Sscanf(word, "%d..%d/%d", &first, &last, &step); n < 3 {
			last, step = first, 1
		}
		for at := first; at != last+step; at += step {
			out = append(out, at)
		}
	}
	return out
}

var placeholder = regexp.MustCompile(`\{(ms|s|slice|n)([+-]\d+)?\}`)

// in returns the words of a step for a hit.
func (s *flowStep) in(nowMs int64, serial int) (out []string) {
	values := map[string]int64{"ms": nowMs, "s": nowMs / 1000, "slice": nowMs / 5000, "n": int64(serial)}
	for _, word := range s.words {
		out = append(out, placeholder.ReplaceAllStringFunc(string(word), func(text string) string {
			m := placeholder.FindStringSubmatch(text)
			more, _ := strconv.ParseInt(m[2], 10, 64) // 0 without one
			return ms(values[m[1]] + more)
		}))
	}
	return out
}

// hit sends what one request sends, and returns what becomes of it.
func (f *flow) hit(c *flowClient, nowMs int64) rune {
	c.serial++
	reply := ""
	for _, step := range f.steps {
		words := step.in(nowMs, c.serial)
		switch {
		case step.re == nil:
			reply = c.run(words)
		case step.re.MatchString(reply) == step.then:
			if len(words) > 0 {
				c.run(words)
			}
			return step.ends
		}
	}
	return '+'
}

// A flowClient is what a client library is to a flow.
type flowClient struct {
	do     func(words ...string) string
	serial int
}

// run is do for the words of a step, in which scripts have names.
func (c *flowClient) run(words []string) string {
	switch words[0] {
	case "EVALSHA":
		return c.script(scriptOf(words[1]), words[3:]...)
	case "EVAL":
		words[1] = scriptOf(words[1])
	}
	return c.do(words...)
}

// script runs a script as client libraries do: by its digest, and by its text
// where the server does not know it.
func (c *flowClient) script(source string, args ...string) string {
	digest := sha1Hex(source)
	reply := c.do(append([]string{"EVALSHA", digest, "1", args[0]}, args[1:]...)...)
	if strings.HasPrefix(reply, "NOSCRIPT ") {
		reply = c.do(append([]string{"EVAL", source, "1", args[0]}, args[1:]...)...)
	}
	return reply
}

func ms(n int64) string { return strconv.FormatInt(n, 10) }

// spellOut turns "3+-" into "+++-".
func spellOut(runs string) string {
	var b strings.Builder
	n := 0
	for _, ch := range runs {
		if '0' <= ch && ch <= '9' {
			n = 10*n + int(ch-'0')
			continue
		}
		b.WriteString(strings.Repeat(string(ch), max(n, 1)))
		n = 0
	}
	return b.String()
}

func engineClient(t *testing.T) (*flowClient, *engine.Engine) {
	e, _, s := newServer(t)
	return &flowClient{do: func(words ...string) string { return doWords(s, words...) }}, e
}

func TestDocumentFlowsAsRedisDecides(t *testing.T) {
	for _, f := range documentFlows() {
		t.Run(f.name, func(t *testing.T) {
			want := f.redis
			require.Len(t, want, len(f.instants))
			c, _ := engineClient(t)
			require.Equal(t, want, decisions(f, c), "our engine")
			require.Equal(t, want, decisions(f, newFlowModel().client()), "the model")
		})
	}
}

func decisions(f flow, c *flowClient) string {
	var b strings.Builder
	for _, at := range f.instants {
		b.WriteRune(f.hit(c, startNowMs+at))
	}
	return b.String()
}

func TestDocumentFlowsWithTheClockMoving(t *testing.T) {
	for _, f := range documentFlows() {
		t.Run(f.name, func(t *testing.T) {
			c, e := engineClient(t)
			model := newFlowModel()
			m := model.client()
			for i, at := range clockInstants(f) {
				nowMs := startNowMs + at
				e.Clock().Set(nowMs)
				model.nowMs = nowMs
				where := fmt.Sprintf("hit %d at %+d", i, at)
				require.Equal(t, string(f.hit(m, nowMs)), string(f.hit(c, nowMs)), where)
				for _, key := range f.keys {
					require.Equal(t, m.do("PTTL", key), c.do("PTTL", key), where)
					if !strings.Contains(key, "limiter:") {
						require.Equal(t, m.do("ZCARD", key), c.do("ZCARD", key), where)
					}
				}
			}
		})
	}
}

// clockInstants are a flow's instants at which a clock can stand, and behind
// them a few that are later than every expiry.
func clockInstants(f flow) []int64 {
	out := slices.DeleteFunc(slices.Clone(f.instants), func(at int64) bool { return at < -1e9 || at > 1e9 })
	return append(out, 2_000_000, 2_000_001, 2_030_000, 2_060_001, 2_060_002, 2_125_000)
}
