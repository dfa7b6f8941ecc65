package engine_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// flowModel knows the commands of the documents' flows and nothing more: maps,
// loops, and the scripts as Go.
type flowModel struct {
	nowMs  int64
	keys   map[string]*modelKey
	multi  bool
	queued [][]string
}

type modelKey struct {
	members    map[string]float64
	count      int64
	expireAtMs int64 // 0: never
}

func newFlowModel() *flowModel {
	return &flowModel{nowMs: startNowMs, keys: make(map[string]*modelKey)}
}

func (m *flowModel) client() *flowClient { return &flowClient{do: m.do} }

// at returns a key if it exists; make creates it.
func (m *flowModel) at(key string, create bool) *modelKey {
	k := m.keys[key]
	if k != nil && k.expireAtMs != 0 && m.nowMs > k.expireAtMs {
		delete(m.keys, key)
		k = nil
	}
	if k == nil && create {
		k = &modelKey{members: make(map[string]float64)}
		m.keys[key] = k
	}
	return k
}

func (m *flowModel) do(words ...string) string {
	switch words[0] {
	case "MULTI":
		m.multi = true
		return "OK"
	case "EXEC":
		if !m.multi {
			return "ERR EXEC without MULTI"
		}
		m.multi = false
		var replies []string
		for _, q := range m.queued {
			replies = append(replies, m.do(q...))
		}
		m.queued = nil
		return "[" + strings.Join(replies, " ") + "]"
	case "DISCARD":
		return "ERR DISCARD without MULTI"
	case "EVALSHA":
		return "NOSCRIPT the model keeps no scripts"
	case "EVAL":
		return m.eval(words[1], words[3], words[4:])
	case "CLUSTER":
		return "6090" // CRC16 of user_123, modulo 16384
	}
	if m.multi {
		m.queued = append(m.queued, words)
		return "QUEUED"
	}
	return strconv.FormatInt(m.integer(words), 10)
}

// integer runs the commands whose reply is an integer.
func (m *flowModel) integer(words []string) int64 {
	key, args := words[1], make([]float64, 2)
	for i := range words[2:] {
		args[i], _ = strconv.ParseFloat(words[2+i], 64) // members need not be numbers
	}
	k := m.at(key, words[0] == "ZADD" || words[0] == "INCRBY")
	switch words[0] {
	case "ZADD":
		_, had := k.members[words[3]]
		k.members[words[3]] = args[0]
		if had {
			return 0
		}
		return 1
	case "INCRBY":
		k.count += int64(args[0])
		return k.count
	case "PTTL":
		switch {
		case k == nil:
			return -2
		case k.expireAtMs == 0:
			return -1
		}
		return k.expireAtMs - m.nowMs
	case "ZCARD":
		if k == nil {
			return 0
		}
		return int64(len(k.members))
	case "ZREMRANGEBYSCORE":
		removed := int64(0)
		if k == nil {
			return 0
		}
		for member, score := range k.members {
			if args[0] <= score && score <= args[1] {
				delete(k.members, member)
				removed++
			}
		}
		if len(k.members) == 0 {
			delete(m.keys, key)
		}
		return removed
	case "EXPIRE", "PEXPIRE":
		if k == nil {
			return 0
		}
		unitMs := int64(1)
		if words[0] == "EXPIRE" {
			unitMs = 1000
		}
		k.expireAtMs = m.nowMs + int64(args[0])*unitMs
		return 1
	}
	panic(fmt.Sprintf("the model does not know %q", words))
}

// eval is the scripts' intended effect.
func (m *flowModel) eval(source, key string, args []string) string {
	run := func(words ...string) int64 { return m.integer(words) }
	whole := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	switch source {
	case scriptOf("millis"):
		now, window, threshold := whole(args[0]), whole(args[1]), whole(args[2])
		run("ZREMRANGEBYSCORE", key, "0", ms(now-window))
		if run("ZCARD", key) >= threshold {
			return "0"
		}
		// tostring keeps 14 digits, a number as an argument 17.
		run("ZADD", key, strconv.FormatFloat(float64(now), 'g', 14, 64), args[0])
		return "1"
	case scriptOf("hit-first"):
		now, period, limit := whole(args[0]), whole(args[1]), whole(args[2])
		run("ZADD", key, args[0], args[0])
		run("ZREMRANGEBYSCORE", key, "0", ms(now-period*1000))
		count := run("ZCARD", key)
		run("EXPIRE", key, args[1])
		if count <= limit {
			return "1"
		}
		return "0"
	case scriptOf("seconds"):
		window, now, limit := whole(args[0]), whole(args[1]), whole(args[2])
		run("ZREMRANGEBYSCORE", key, "0", ms(now-window))
		if run("ZCARD", key) >= limit {
			return "0"
		}
		run("ZADD", key, args[1], args[1])
		run("EXPIRE", key, ms(window+1))
		return "1"
	}
	panic("the model does not know this script")
}

func sha1Hex(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

// TestFlowsFindADifference checks that both the recorded decisions and the model detect a
// limiter that is off by one.
func TestFlowsFindADifference(t *testing.T) {
	right := documentFlows()[0]
	wrong := right
	wrong.steps = slices.Clone(right.steps)
	require.Equal(t, `^\d\d?$`, right.steps[2].re.String())
	wrong.steps[2].re = regexp.MustCompile(`^(\d\d?|100)$`) // limit 101
	c, _ := engineClient(t)
	require.NotEqual(t, right.redis, decisions(wrong, c))
	require.Equal(t, "+++--", spellOut("3+2-"))
	require.Equal(t, "+-", spellOut("+-"))

	// The clock matters: what was denied with the clock held is let in when the key has expired.
	counter := documentFlows()[5]
	require.Contains(t, counter.name, "one connection")
	m := newFlowModel()
	held := m.client()
	for range 3 {
		require.Equal(t, '+', counter.hit(held, startNowMs))
	}
	require.Equal(t, '-', counter.hit(held, startNowMs+60_001))
	m.nowMs += 60_001
	require.Equal(t, '+', counter.hit(held, startNowMs+60_001))
}
