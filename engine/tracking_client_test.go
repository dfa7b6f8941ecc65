package engine_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

// A cacher is a client that caches what it reads and obeys invalidations. It reads one
// stream, as a connection would.
type cacher struct {
	*engine.Session
	t      testing.TB
	id     string
	sent   bytes.Buffer // and not looked at yet
	in     bufio.Reader
	cache  map[string]string // DUMP's answers by key
	heard  []string          // messages, shown, in order
	mirror *cacher           // whose messages come here: CLIENT TRACKING REDIRECT
}

func newCacher(t testing.TB, e *engine.Engine, proto int) *cacher {
	c := &cacher{Session: newSession(t, e), t: t, cache: make(map[string]string)}
	c.id = strconv.FormatInt(c.ID(), 10)
	if proto == resp.RESP3 {
		c.ask("HELLO 3")
	}
	return c
}

// ask runs a command line and returns its reply. It applies the messages before the
// reply, and those behind it that are there already.
func (c *cacher) ask(line string) any { return c.askArgs(args(line), nil) }

// askArgs is ask; keep is called with the reply before any message behind it is applied.
func (c *cacher) askArgs(words [][]byte, keep func(reply any)) (reply any) {
	v := c.Do(words)
	c.sent.Write(resp.Append(nil, &v, c.Proto()))
	found := false
	c.read(func(value any) {
		found, reply = true, value
		if keep != nil {
			keep(value)
		}
	})
	require.True(c.t, found || v.Kind() == resp.KindNone, "%q has no reply", words)
	c.drain()
	return reply
}

// drain applies the messages that have come.
func (c *cacher) drain() {
	b, lost := c.Deliver(nil)
	require.Zero(c.t, lost)
	c.sent.Write(b)
	c.read(func(value any) { c.t.Fatalf("client %s: %v is no message", c.id, value) })
}

// read splits the stream into messages, which it applies, and a reply.
func (c *cacher) read(reply func(value any)) {
	c.in.Reset(&c.sent)
	for {
		value, err := readValue(&c.in)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(c.t, err)
		if m, ok := value.(pushed); ok {
			c.obey(m)
		} else if a, ok := value.([]any); ok && len(a) == 3 && a[0] == "message" {
			c.obey(pushed{"invalidate", a[2]}) // RESP2
		} else {
			reply(value)
		}
	}
}

func (c *cacher) obey(m pushed) {
	c.heard = append(c.heard, fmt.Sprintf("%v %v", m[0], m[1]))
	owner := c
	if c.mirror != nil {
		owner = c.mirror
	}
	switch {
	case m[0] != "invalidate":
	case m[1] == nil:
		clear(owner.cache)
	default:
		for _, key := range m[1].([]any) {
			delete(owner.cache, key.(string))
		}
	}
}

// takeHeard returns and clears the messages so far.
func (c *cacher) takeHeard() []string {
	c.drain()
	out := c.heard
	c.heard = nil
	return out
}

type pushed []any

// readValue reads one reply of RESP2 or RESP3: strings and numbers as text, nil, []any,
// pushed.
func readValue(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	text := strings.TrimSuffix(line[1:], "\r\n")
	switch line[0] {
	case '$', '=':
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, err
		}
		body := make([]byte, n+2)
		_, err = io.ReadFull(r, body)
		return string(body[:n]), err
	case '_':
		return nil, nil
	case '*', '~', '>', '%':
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, err
		}
		if line[0] == '%' {
			n *= 2
		}
		out := make([]any, n)
		for i := range out {
			if out[i], err = readValue(r); err != nil {
				return nil, err
			}
		}
		if line[0] == '>' {
			return pushed(out), nil
		}
		return out, nil
	}
	return text, nil
}

// stale compares a cache with the keyspace and describes its first wrong entry. No
// command or message may be pending.
func (c *cacher) stale(observer *engine.Session) error {
	var keys []string
	for key := range c.cache {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if now := dump(observer.Do([][]byte{[]byte("DUMP"), []byte(key)})); now != c.cache[key] {
			return fmt.Errorf("client %s has %q under %s, which is %q", c.id, c.cache[key], key, now)
		}
	}
	return nil
}

// dump returns the reply of DUMP in the form in which a cache has it.
func dump(v resp.Value) string {
	if v.Kind() == resp.KindNull {
		return "(nil)"
	}
	return v.Str()
}

func cached(reply any) string {
	if reply == nil {
		return "(nil)"
	}
	return reply.(string)
}
