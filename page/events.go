package page

import (
	"bytes"
	"context"
	"net/http"
	"time"
)

// A feed is a command whose reply an event stream repeats.
type feed struct {
	name  string // of the event
	args  []string
	every int // ticks from one run to the next
}

// feeds returns the feeds of a stream whose query has "within", the time that the list of
// heavy hitters covers.
func feeds(within string) []feed {
	top := func(by string) []string {
		args := []string{"rl.top", by, "10"}
		if within != "" {
			args = append(args, "within", within)
		}
		return args
	}
	info := []string{
		"info", "server", "clients", "memory", "persistence", "stats", "replication", "keyspace", "limiter",
		"commandstats", "latencystats",
	}
	return []feed{
		{"info", info, 1},
		{"stats", []string{"rl.stats"}, 1},
		{"denied", top("denied"), 2},
		{"hot", top("hot"), 2},
		{"bytes", []string{"rl.top", "bytes", "10"}, 30},
		{"slowlog", []string{"slowlog", "get", "10"}, 2},
		{"latency", []string{"latency", "latest"}, 2},
		{"clients", []string{"client", "list"}, 2},
	}
}

// withins are the values that "within" may have.
var withins = map[string]bool{"": true, "1m": true, "10m": true, "1h": true}

// absentEvery is after how many ticks a feed is tried again whose command is absent or not
// permitted.
const absentEvery = 60

// events sends server-sent events, named as the feeds, until the viewer has gone. The first
// is what the charts show of the time before.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	within := r.URL.Query().Get("within")
	if !withins[within] {
		(&refusal{http.StatusBadRequest, "within must be 1m, 10m or 1h"}).write(w)
		return
	}
	c, refused := p.login(r.Context(), r)
	if refused != nil {
		refused.write(w)
		return
	}
	defer c.close()
	select {
	case p.streams <- struct{}{}:
		defer func() { <-p.streams }()
	default:
		(&refusal{http.StatusServiceUnavailable, "there are too many viewers"}).write(w)
		return
	}
	defer context.AfterFunc(p.ended, c.kill)()
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // of the request: it would end the stream
	w.Header().Set("Content-Type", "text/event-stream")
	ticks, stop := p.ticks()
	defer stop()
	s := stream{client: c, last: make(map[string][]byte)}
	first := s.appendHistory(nil, &p.past)
	for n := 0; ; n++ {
		text, err := s.tick(n, feeds(within))
		if err != nil {
			return
		}
		text, first = append(first, text...), nil
		// A viewer that does not read is dropped: its connection cannot be written to in time.
		_ = out.SetWriteDeadline(time.Now().Add(p.timeout))
		if _, err := w.Write(text); err != nil {
			return
		}
		if out.Flush() != nil {
			return
		}
		select {
		case <-ticks:
		case <-c.killed.Done():
			return
		}
	}
}

// A stream is what one viewer has been sent.
type stream struct {
	client *client
	last   map[string][]byte // by feed
	later  map[string]int    // the tick before which a feed is not tried
}

// tick returns the events of the nth tick: those whose replies have changed, and a comment,
// so that a dead connection is noticed.
func (s *stream) tick(n int, feeds []feed) ([]byte, error) {
	out := []byte(": \n")
	for _, f := range feeds {
		if n%f.every != 0 || n < s.later[f.name] {
			continue
		}
		text, err := s.run(n, f)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(text, s.last[f.name]) {
			continue
		}
		s.last[f.name] = text
		out = append(append(append(out, "event: "...), f.name...), "\ndata: "...)
		out = append(append(out, text...), '\n', '\n')
	}
	return append(out, '\n'), nil
}

// run returns the result of a feed's command. A command that is absent or not permitted is
// not run: it would count as an error, or fill ACL LOG.
func (s *stream) run(n int, f feed) ([]byte, error) {
	var refused string
	switch c := s.client; {
	case !c.has(f.args):
		refused = `{"absent":true}`
	case !c.permits(f.args):
		refused = `{"denied":true}`
	default:
		reply, err := c.do(c.killed, f.args)
		if err != nil {
			return nil, err
		}
		return appendResult(nil, reply), nil
	}
	if s.later == nil {
		s.later = make(map[string]int)
	}
	s.later[f.name] = n + absentEvery
	return []byte(refused), nil
}
