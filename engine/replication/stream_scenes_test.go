package replication

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
)

// A sceneReader is a reader of the source's stream.
type sceneReader struct {
	*Reader
	got string // what it waited for, or why that has ended; empty: it waits
}

// idOf returns the history with a name: A and B are idA and idB, the next letters those that were shown.
func (s *scene) idOf(name string) string {
	if i := int(name[0]) - 'A'; len(name) == 1 && i >= 0 && i < len(s.ids) {
		return s.ids[i]
	}
	return strings.ReplaceAll(name, "none", NoID)
}

func (s *scene) nameOf(id string) string {
	if id == NoID {
		return "none"
	}
	if !slices.Contains(s.ids, id) {
		s.ids = append(s.ids, id)
	}
	return string(rune('A' + slices.Index(s.ids, id)))
}

// listOf returns the commands that a text has between commas.
func listOf(text string) []string {
	return slices.DeleteFunc(strings.Split(text, ", "), func(c string) bool { return c == "" })
}

// ofStream runs a line about the stream: reset ID OFFSET DB, and so on.
func (s *scene) ofStream(words []string, number func(i int) int64) (reply any, err error) {
	switch words[0] {
	case "reset":
		s.stream.Reset(Position{s.idOf(words[1]), number(2)}, int(number(3)))
	case "restore": // ID OFFSET, and whether another history begins
		s.stream.Restore(Position{s.idOf(words[1]), number(2)}, 0, words[3] == "forked")
	case "rename":
		s.stream.Rename(s.idOf(words[1]))
	case "fork":
		s.stream.Fork()
	case "deactivate":
		s.stream.Deactivate()
	case "follow": // TEXT DB
		s.stream.Follow([]byte(words[1]), int(number(2)))
	case "group": // DB COMMANDS: where they end
		reply = s.stream.Append(groupOf(int(number(1)), listOf(words[2])...))
	case "status":
		now := s.stream.Status()
		reply = fmt.Sprintf("%s %d, after %s to %d, active %d, db %d, %d from %d, size %d", s.nameOf(now.ID),
			now.Offset, s.nameOf(now.Previous), now.PreviousEnd, truth(now.Active), now.DB, now.Held,
			now.First, now.Size)
	default:
		err = errors.New("no word of a master's")
	}
	return reply, err
}

// ofReader runs a line about a reader.
func (s *scene) ofReader(name string, words []string) (reply any, err error) {
	r := s.readers[name]
	switch words[0] {
	case "here": // opens it where the stream ends
		at, reader := s.stream.Here()
		s.readers[name] = &sceneReader{Reader: reader}
		reply = fmt.Sprintf("%s %d", s.nameOf(at.ID), at.Offset)
	case "from": // ID OFFSET: the history that it continues, no if it cannot
		var from Position
		_, _ = fmt.Sscan(words[2], &from.Offset)
		from.ID = s.idOf(words[1])
		id, reader, ok := s.stream.Continue(from)
		if reply = "no"; ok {
			reply, s.readers[name] = s.nameOf(id), &sceneReader{Reader: reader}
		} else if reader != nil {
			err = errors.New("a reader that continues nothing")
		}
	case "unread":
		reply = r.Unread()
	case "close":
		r.Close()
	case "wait":
		go func() {
			b, err := r.Next(nil)
			r.got = string(b)
			if err != nil {
				r.got = err.Error()
			}
		}()
		synctest.Wait()
	case "waits": // nothing while it does
		synctest.Wait()
		reply = r.got
	case "read": // all that it has
		interrupt := make(chan struct{})
		close(interrupt)
		var out []byte
		for b := []byte{0}; b != nil && err == nil; {
			b, err = r.Next(interrupt)
			out = append(out, b...)
		}
		switch {
		case errors.Is(err, ErrClosed):
			reply, err = err.Error(), nil
		case strings.HasPrefix(string(out), "*"):
			reply = shown(string(out))
		default:
			reply = string(out)
		}
	default:
		err = errors.New("no word of a reader's")
	}
	return reply, err
}
