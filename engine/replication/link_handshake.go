package replication

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ask sends a command and returns the reply, which is one line.
func ask(conn io.Writer, in *bufio.Reader, args ...string) (string, error) {
	if _, err := conn.Write(Command(args...)); err != nil {
		return "", err
	}
	for {
		line, err := readLine(in)
		if err != nil {
			return "", err
		}
		if len(line) > 0 { // empty lines keep the connection alive
			return string(line), nil
		}
	}
}

// introduce is the handshake up to PSYNC.
func (l *Link) introduce(conn io.Writer, in *bufio.Reader) error {
	reply, err := ask(conn, in, "PING")
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(reply, "+"), strings.HasPrefix(reply, "-NOAUTH"),
		strings.HasPrefix(reply, "-NOPERM"), strings.HasPrefix(reply, "-ERR operation not permitted"):
	default:
		return refused("PING", reply)
	}
	o := l.o.Settings()
	if o.Password != "" {
		args := []string{"AUTH", o.Password}
		if o.User != "" {
			args = []string{"AUTH", o.User, o.Password}
		}
		if reply, err = ask(conn, in, args...); err != nil {
			return err
		}
		if reply[0] != '+' {
			return refused("AUTH", reply)
		}
	}
	introductions := [][]string{{"REPLCONF", "listening-port", strconv.Itoa(o.Port)}}
	if o.IP != "" {
		introductions = append(introductions, []string{"REPLCONF", "ip-address", o.IP})
	}
	introductions = append(introductions, []string{"REPLCONF", "capa", "eof", "capa", "psync2"})
	for _, args := range introductions {
		reply, err := ask(conn, in, args...)
		if err != nil {
			return err
		}
		if reply[0] == '-' && !strings.HasPrefix(reply, "-ERR") {
			return refused(strings.Join(args[:2], " "), reply) // such as NOAUTH; old masters lack options
		}
	}
	return nil
}

func refused(what, reply string) error {
	return fmt.Errorf("the master answers %s: %q", what, reply)
}

// sync asks for the stream, from where the follower is if that can be, or after a copy of all keys.
func (l *Link) sync(conn io.Writer, in *bufio.Reader) error {
	promoted := l.o.Promoted
	l.o.Promoted = nil
	accepted := func(yes bool) {
		if promoted != nil {
			promoted(yes)
			promoted = nil
		}
	}
	defer accepted(false)
	from, ok := l.o.Follower.Position()
	if isClosed(l.stop) { // it may be a place in the history that the follower has begun as a master
		return ErrClosed
	}
	args := []string{"PSYNC", "?", "-1"}
	if ok {
		args = []string{"PSYNC", from.ID, strconv.FormatInt(from.Offset+1, 10)}
	}
	if promoted != nil {
		args = append(args, "FAILOVER")
	}
	reply, err := ask(conn, in, args...)
	if err != nil {
		return err
	}
	verb, rest, _ := strings.Cut(reply, " ")
	words := strings.Fields(rest)
	switch {
	case len(words) > 0 && len(words[0]) != len(NoID):
	case verb == "+CONTINUE" && ok:
		if len(words) > 0 {
			from.ID = words[0]
		}
		if err := l.o.Follower.Continue(from.ID); err != nil {
			return err
		}
		accepted(true)
		l.online(from.Offset)
		return nil
	case verb == "+FULLRESYNC" && len(words) == 2:
		offset, err := strconv.ParseInt(words[1], 10, 64)
		if err == nil && offset >= 0 {
			accepted(true)
			return l.full(conn, in, Position{words[0], offset})
		}
	}
	return refused("PSYNC", reply)
}
