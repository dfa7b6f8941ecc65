package replication

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store/effects"
)

const second = 1_000_000

// A clock stands still unless it is advanced.
type clock struct{ us atomic.Int64 }

func (c *clock) now() int64          { return c.us.Load() }
func (c *clock) advance(us int64)    { c.us.Add(us) }
func discard(bool, string, ...any)   {}
func settings() LinkSettings         { return LinkSettings{Port: 6390, TimeoutUs: 60 * second} }
func position(s *Stream) (id string) { return s.Position().ID }
func raw(command string) []byte      { return Command(strings.Fields(command)...) }
func rawAll(commands ...string) (b []byte) {
	for _, c := range commands {
		b = append(b, raw(c)...)
	}
	return b
}

// groupOf returns a group of commands in a database.
func groupOf(db int, commands ...string) *effects.Group {
	var g effects.Group
	for _, c := range commands {
		var args [][]byte
		for _, word := range strings.Fields(c) {
			args = append(args, []byte(word))
		}
		g.Add(db, args...)
	}
	return &g
}

// Copies in these tests begin and end as follows, so that half of one is noticed.
const copyHead, copyEnd = "REDIS0011", "#end#"

var errHalf = errors.New("half a copy")

// A keeper is a Follower whose keys are the commands that were applied, one after the other, after the
// copy that was loaded.
type keeper struct {
	stream Stream
	whole  func(copied []byte) error // nil: copyHead and copyEnd are looked for
	refuse func(args [][]byte) error // nil: every command is applied
	asked  func()                    // nil, or called when Position is

	mu            sync.Mutex // protects the fields below
	keys          []byte
	transaction   []byte // what has arrived of the transaction under way
	open          bool
	loads         int
	continued     int
	idle          int  // how often everything was applied
	promoted      bool // what the link still brings is dropped
	spools        int  // that are not closed
	spoolCapacity int  // of a disk that fills up; 0: no limit
}

func newKeeper() *keeper {
	k := &keeper{}
	k.stream.Init()
	k.stream.SetSize(1 << 20)
	return k
}

func (k *keeper) Position() (Position, bool) {
	if k.asked != nil {
		k.asked()
	}
	return k.stream.Position(), k.stream.Active()
}

func (k *keeper) Continue(id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.continued++
	k.transaction, k.open = nil, false
	if k.promoted {
		return ErrClosed
	}
	k.stream.Rename(id)
	return nil
}

func (k *keeper) Load(f io.ReaderAt, size int64, at Position, progress func()) error {
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	progress()
	if k.whole != nil {
		if err := k.whole(b); err != nil {
			return err
		}
	} else {
		text, begins := bytes.CutPrefix(b, []byte(copyHead))
		text, ends := bytes.CutSuffix(text, []byte(copyEnd))
		if !begins || !ends {
			return errHalf
		}
		b = text
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.promoted {
		return ErrClosed
	}
	k.keys, k.transaction, k.open = b, nil, false
	k.loads++
	k.stream.Reset(at, 0)
	return nil
}

func (k *keeper) Apply(args [][]byte, raw []byte, _ <-chan struct{}) error {
	if k.refuse != nil {
		if err := k.refuse(args); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.promoted {
		return ErrClosed
	}
	k.transaction = append(k.transaction, raw...)
	verb := ""
	if len(args) > 0 {
		verb = string(args[0])
	}
	switch verb {
	case "MULTI":
		k.open = true
	case "EXEC":
		k.open = false
	}
	if !k.open {
		k.keys = append(k.keys, onlyWrites(k.transaction)...)
		k.stream.Follow(k.transaction, 0)
		k.transaction = nil
	}
	return nil
}

// onlyWrites returns the commands of a stream that change keys.
func onlyWrites(stream []byte) (out []byte) {
	p := parser{in: bufio.NewReader(bytes.NewReader(stream))}
	for {
		c, err := p.next()
		if err != nil {
			return out
		}
		if len(c.args) > 0 && string(c.args[0]) == "SET" {
			out = append(out, c.raw...)
		}
	}
}

func (k *keeper) Idle() { k.count(&k.idle, 1) }

func (k *keeper) Connected(bool) {}

func (k *keeper) count(n *int, by int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	*n += by
}

func (k *keeper) get() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return string(k.keys)
}

func (k *keeper) Spool() (Spool, error) {
	k.count(&k.spools, 1)
	return &memorySpool{k: k}, nil
}

// A memorySpool is a Spool in memory.
type memorySpool struct {
	k *keeper
	b []byte
}

var errDiskFull = errors.New("no space left on device")

func (s *memorySpool) Write(b []byte) (int, error) {
	if c := s.k.spoolCapacity; c > 0 && len(s.b)+len(b) > c {
		return 0, errDiskFull
	}
	s.b = append(s.b, b...)
	return len(b), nil
}

func (s *memorySpool) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(s.b).ReadAt(b, at)
}

func (s *memorySpool) Close() error {
	s.k.count(&s.k.spools, -1)
	return nil
}

// copyOf is a copy whose keys are given.
func copyOf(keys string) string { return copyHead + keys + copyEnd }

// sized and marked are the two forms in which a copy is sent.
func sized(keys string) string { return fmt.Sprintf("$%d\r\n%s", len(copyOf(keys)), copyOf(keys)) }

func marked(keys string) string { return "$EOF:" + mark + "\r\n" + copyOf(keys) + mark }

const (
	mark = "0123456789abcdef0123456789abcdef01234567"
	idA  = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	idB  = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// readAll reads what a reader has, and requires that it has no more.
func readAll(t *testing.T, r *Reader) string {
	t.Helper()
	interrupt := make(chan struct{})
	close(interrupt)
	var out []byte
	for {
		b, err := r.Next(interrupt)
		require.NoError(t, err)
		if b == nil {
			return string(out)
		}
		out = append(out, b...)
	}
}
