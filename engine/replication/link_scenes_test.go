package replication

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A linkScene is a section of testdata/links: a link, its masters and its follower, which has the key old,
// keeps copies of 1000 bytes at most, and cannot follow the command XADD.
type linkScene struct {
	*rig
	t *testing.T
}

func TestLinkScenes(t *testing.T) {
	runScenes(t, "testdata/links/*.cases", func(t *testing.T, play func(func([]string) (any, error))) {
		withRig(t, func(t *testing.T, r *rig) {
			r.keeper.keys, r.keeper.spoolCapacity = raw("SET old 1"), 1000
			r.keeper.refuse = func(args [][]byte) error {
				if len(args) > 0 && string(args[0]) == "XADD" {
					return fmt.Errorf("%w: the command XADD", ErrForeign)
				}
				return nil
			}
			play((&linkScene{r, t}).do)
		})
	})
}

// textOf returns what a master sends: full OFFSET begins a copy of history A, sized and marked COMMANDS are
// the copy, run COMMANDS are commands, bytes TEXT is that. Commands have commas between them.
func textOf(words []string) (text string) {
	for i := 0; i+1 < len(words); i += 2 {
		arg := words[i+1]
		commands := string(rawAll(listOf(arg)...))
		switch words[i] {
		case "full":
			text += "+FULLRESYNC " + idA + " " + arg + "\r\n"
		case "sized":
			text += sized(commands)
		case "marked":
			text += marked(commands)
		case "run":
			text += commands
		case "bytes":
			text += arg
		}
	}
	return text
}

var histories = strings.NewReplacer(idA, "A", idB, "B", NoID, "none")

// do runs a line.
func (s *linkScene) do(words []string) (reply any, err error) {
	arg := append(words, "")[1]
	status := s.Status()
	switch words[0] {
	case "master": // of another connection: what it answers to what begins so, and, behind PSYNC, to that
		one := script{"PING": "+PONG\r\n"}
		for i := 1; i < len(words); i += 2 {
			if words[i] == "PSYNC" {
				one["PSYNC"] = textOf(words[i+1:])
				break
			}
			one[words[i]] = words[i+1]
		}
		s.scripts = append(s.scripts, one)
	case "password":
		s.settings.Password = arg
	case "user":
		s.settings.User = arg
	case "ip":
		s.settings.IP = arg
	case "later": // a tick, after 60s or 1us
		var d time.Duration
		d, err = time.ParseDuration(arg)
		s.later(d.Microseconds())
	case "send": // what the present master says next
		s.send(textOf(words[1:]))
	case "cut":
		_ = s.conn.Close()
		synctest.Wait()
	case "unread": // the master reads nothing more
		s.conn.in.mu.Lock()
		s.conn.in.full, s.conn.in.held = 1, 1
		s.conn.in.mu.Unlock()
	case "foreign": // copies are
		s.keeper.whole = func([]byte) error { return fmt.Errorf("%w: a stream, XADD", ErrForeign) }
	case "close":
		s.Close()
	case "again": // a link to other masters, and a follower that follows everything
		s.Close()
		s.scripts, s.keeper.refuse, s.keeper.whole = nil, nil, nil
		s.link(s.keeper)
	case "asked": // since the last time
		reply = strings.Join(s.questions(), "; ")
	case "state":
		reply = status.State
	case "why":
		reply = status.Why
	case "up":
		reply = truth(s.Up())
	case "down":
		reply = truth(status.DownUs != 0)
	case "copy": // what has come of it, and is to come
		reply = fmt.Sprint(status.Read, " ", status.Left, " ", status.Syncing)
	case "offset": // of what was received
		reply = status.Offset
	case "dials":
		reply = s.dials
	case "logged":
		reply = strconv.Itoa(len(s.logged)) + " " + strings.Join(s.logged[max(len(s.logged)-1, 0):], "")
	case "keys":
		reply = shown(s.keeper.get())
	case "at": // the position of what was applied
		at := s.keeper.stream.Position()
		reply = histories.Replace(fmt.Sprint(at.ID, " ", at.Offset))
	case "previous":
		reply = histories.Replace(s.keeper.stream.Status().Previous)
	case "loads":
		reply = s.keeper.loads
	case "applied": // how often everything was
		reply = s.keeper.idle
	default:
		err = errors.New("no word of a link's")
	}
	return reply, err
}
