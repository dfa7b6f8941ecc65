package recorded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Replay makes the calls of a recording on many keys: the first call on each, then the second on each.
type Replay struct {
	Recording   *Recording
	Keys        int
	Connections int
	Pipeline    int
}

// Calls returns how many calls Run makes.
func (r *Replay) Calls() int { return r.Keys * len(r.Recording.Calls) }

// nameWidth is the length of the names that replace the recorded one.
const nameWidth = 16

// A template is an encoded call with the places of the name.
type template struct {
	text  []byte
	names []int
}

func (r *Recording) templates() []template {
	blank := strings.Repeat("0", nameWidth)
	var all []template
	for _, call := range r.Calls {
		t := template{text: fmt.Appendf(nil, "*%d\r\n", len(call))}
		for _, arg := range call {
			parts := strings.Split(arg, r.Name)
			t.text = fmt.Appendf(t.text, "$%d\r\n", len(strings.Join(parts, blank)))
			for i, part := range parts {
				if i > 0 {
					t.names = append(t.names, len(t.text))
					t.text = append(t.text, blank...)
				}
				t.text = append(t.text, part...)
			}
			t.text = append(t.text, "\r\n"...)
		}
		all = append(all, t)
	}
	return all
}

// Load gives the server the scripts.
func (r *Recording) Load(ask func(args ...string) (string, error)) error {
	for _, source := range r.Scripts {
		if _, err := ask("SCRIPT", "LOAD", source); err != nil {
			return err
		}
	}
	return nil
}

var errReply = errors.New("an error reply")

// Run makes the calls. An error reply ends it.
func (r *Replay) Run(ctx context.Context, address string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	templates := r.Recording.templates()
	var wait sync.WaitGroup
	for c := range r.Connections {
		wait.Go(func() {
			if err := r.connection(ctx, address, templates, c); err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// connection makes the calls on every key whose number is c modulo the number of connections.
func (r *Replay) connection(ctx context.Context, address string, templates []template, c int) error {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	in := bufio.NewReaderSize(conn, 1<<16)
	var out []byte
	under := 0
	flush := func() error {
		if _, err := conn.Write(out); err != nil {
			return err
		}
		for ; under > 0; under-- {
			if err := skipReply(in); err != nil {
				return err
			}
		}
		out = out[:0]
		return nil
	}
	for _, t := range templates {
		for key := c; key < r.Keys; key += r.Connections {
			at := len(out)
			out = append(out, t.text...)
			for _, name := range t.names {
				digits := strconv.AppendInt(nil, int64(key), 10)
				copy(out[at+name+nameWidth-len(digits):], digits)
			}
			if under++; under == r.Pipeline {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// skipReply reads a reply in RESP2.
func skipReply(in *bufio.Reader) error {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	switch kind, rest := line[0], strings.TrimSuffix(string(line[1:]), "\r\n"); kind {
	case '-':
		return fmt.Errorf("%w: %s", errReply, rest)
	case '$', '*':
		n, err := strconv.Atoi(rest)
		if err != nil {
			return fmt.Errorf("a length of %q", rest)
		}
		if kind == '$' && n >= 0 {
			_, err := io.CopyN(io.Discard, in, int64(n)+2)
			return err
		}
		for ; kind == '*' && n > 0; n-- {
			if err := skipReply(in); err != nil {
				return err
			}
		}
	}
	return nil
}
