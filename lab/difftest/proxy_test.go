package main

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"testing"
)

// A fault changes how the proxy handles a command: it passes the command on and changes the reply, or answers
// itself.
type fault struct {
	// answer, if not nil, may reply instead of the server; with ok false the command is passed on.
	answer func(args []string) (reply string, ok bool)
	// change, if not nil, may change the server's reply or close the connection.
	change func(args []string, reply string) (changed string, hangUp bool)
	// drop, if not nil, reports which messages the client does not get.
	drop func(message string) bool
}

// faultyProxy starts a proxy that makes a correct server faulty, until the test ends. It understands only
// multibulk commands; the data families send no others.
func faultyProxy(t *testing.T, behind string, f fault) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	running.Add(1)
	go func() {
		defer running.Done()
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Add(1)
			go func() {
				defer running.Done()
				defer client.Close()
				serveFaults(client, behind, f)
			}()
		}
	}()
	return listener.Addr().String()
}

func serveFaults(client net.Conn, behind string, f fault) {
	server, err := net.Dial("tcp", behind)
	if err != nil {
		return
	}
	defer server.Close()
	fromClient, fromServer := bufio.NewReader(client), bufio.NewReader(server)
	for {
		raw, err := appendReply(nil, fromClient, 0)
		if err != nil {
			return
		}
		v, err := parse(raw)
		if err != nil {
			return
		}
		args := make([]string, len(v.elems))
		for i, e := range v.elems {
			args[i] = e.text
		}
		args[0] = strings.ToUpper(args[0])
		var reply []byte
		if f.answer != nil {
			if own, ok := f.answer(args); ok {
				reply = []byte(own)
			}
		}
		if reply == nil {
			if _, err := server.Write(raw); err != nil {
				return
			}
			var pushed []byte
			if pushed, reply, err = messagesAndReply(fromServer, f.drop); err != nil {
				return
			}
			if _, err := client.Write(pushed); err != nil {
				return
			}
			if f.change != nil {
				changed, hangUp := f.change(args, string(reply))
				if hangUp {
					return
				}
				reply = []byte(changed)
			}
		}
		if _, err := client.Write(reply); err != nil {
			return
		}
	}
}

// messagesAndReply reads a reply and the messages before it.
func messagesAndReply(r *bufio.Reader, drop func(message string) bool) (pushed, reply []byte, err error) {
	for {
		if reply, err = appendReply(nil, r, 0); err != nil || reply[0] != '>' {
			return pushed, reply, err
		}
		if drop == nil || !drop(string(reply)) {
			pushed = append(pushed, reply...)
		}
	}
}
