package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zlimit/zlimit/words"
)

// record lets programs use a redis-server through a proxy, and writes to a file what they send. It ends with
// the command that it was given, or with an interrupt.
func (s *settings) record(out io.Writer) error {
	behind := s.behind
	if behind == "" {
		addr, end, err := startPlain()
		if err != nil {
			return err
		}
		defer end()
		behind = addr
	}
	file, err := os.OpenFile(s.recordTo, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	buffered := bufio.NewWriter(file)
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	p := &proxy{
		behind: behind, listener: listener,
		recorder: newRecorder(buffered, s.limit, time.Now().UnixMilli()),
	}
	var serving sync.WaitGroup
	serving.Go(p.serve)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Fprintf(out, "recording to %s what is sent to %s\n", s.recordTo, listener.Addr())
	var failed error
	if len(s.command) > 0 {
		cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
		cmd.Stdout, cmd.Stderr = out, out
		failed = cmd.Run()
	} else {
		<-ctx.Done()
	}
	p.close()
	serving.Wait()
	if failed != nil {
		fmt.Fprintf(out, "the command ended with: %v\n", failed)
	}
	if p.recorder.full {
		fmt.Fprintf(out, "the recording is not complete: it has reached -limit %d\n", s.limit)
	}
	fmt.Fprintf(out, "%d commands on %d connections\n", p.recorder.commands, p.accepted.Load())
	return errors.Join(p.recorder.close(), buffered.Flush(), file.Close())
}

// A proxy passes connections on to a server and records them.
type proxy struct {
	behind   string
	listener net.Listener
	recorder *recorder
	accepted atomic.Int64

	mu     sync.Mutex // protects what follows
	open   map[net.Conn]bool
	closed bool
}

// serve accepts connections until close, and returns when all have ended.
func (p *proxy) serve() {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		number := int(p.accepted.Add(1))
		running.Go(func() {
			defer client.Close()
			server, err := net.Dial("tcp", p.behind)
			if err != nil {
				return
			}
			defer server.Close()
			if !p.keep(client, server) {
				return
			}
			p.pass(number, client, server)
			p.forget(client, server)
		})
	}
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[net.Conn]bool{}
	}
	for _, c := range conns {
		p.open[c] = true
	}
	return !p.closed
}

func (p *proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.open, c)
	}
}

// close ends the listener and all connections.
func (p *proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	_ = p.listener.Close()
	for c := range p.open {
		_ = c.Close() // its two sides end with it
	}
}

// pass passes commands and replies on until one side ends. A reply is recorded before the client has it, so
// that it precedes what the client sends because of it.
func (p *proxy) pass(number int, client, server net.Conn) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer client.Close()
		in := bufio.NewReaderSize(server, 64<<10)
		var reply []byte
		for {
			var err error
			if reply, err = appendReply(reply[:0], in, 0); err != nil {
				return
			}
			p.recorder.add(recorded{conn: number, replies: 1})
			if _, err := client.Write(reply); err != nil {
				return
			}
		}
	}()
	in := bufio.NewReaderSize(client, 64<<10)
	for {
		args, err := readCommand(in)
		if err != nil {
			break
		}
		p.recorder.add(recorded{conn: number, args: args})
		if _, err := server.Write(appendCommand(nil, args)); err != nil {
			break
		}
	}
	_ = server.Close()
	<-ended
	p.recorder.add(recorded{conn: number, ends: true})
}

var errCommand = errors.New("not a command, or one that is too large")

// readCommand reads a command: an array of bulk strings, or a line of words.
func readCommand(in *bufio.Reader) ([]string, error) {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			continue
		}
		n, isArray := strings.CutPrefix(text, "*")
		if !isArray {
			split, ok := words.Split([]byte(text), nil)
			if !ok || len(split) == 0 {
				return nil, errCommand
			}
			var args []string
			for _, w := range split {
				args = append(args, string(w))
			}
			return args, nil
		}
		count, err := strconv.Atoi(n)
		if err != nil || count > maxLine/4 {
			return nil, errCommand
		}
		if count < 1 {
			continue
		}
		return readArguments(in, count)
	}
}

func readArguments(in *bufio.Reader, count int) ([]string, error) {
	var args []string
	left := int64(maxLine / 4) // quoted, a byte may take four
	for range count {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		text, ok := strings.CutPrefix(strings.TrimRight(string(line), "\r\n"), "$")
		size, err := strconv.ParseInt(text, 10, 64)
		if left -= size + 8; !ok || err != nil || size < 0 || left < 0 {
			return nil, errCommand
		}
		arg := make([]byte, size+2)
		if _, err := io.ReadFull(in, arg); err != nil {
			return nil, err
		}
		args = append(args, string(arg[:size]))
	}
	return args, nil
}
