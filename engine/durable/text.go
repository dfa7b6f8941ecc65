package durable

import (
	"bufio"
	"io"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// itemsPerCommand is how many elements one command of a rewritten log adds, as in
// Redis.
const itemsPerCommand = 64

// writeCommands is a snapshotWriter of commands, for aof-use-rdb-preamble no.
func (s *Storage) writeCommands(w io.Writer, stop <-chan struct{}, begin func()) error {
	out := textWriter{to: bufio.NewWriterSize(w, 64<<10), db: -1}
	var pre preamble
	slow := delay{
		storage: s, directive: "rdb-key-save-delay", ended: func() bool { return isClosed(stop) },
	}
	err := s.Snapshot(stop, func() {
		begin()
		pre = s.preamble()
	}, func(k Key) error {
		out.preamble(pre)
		slow.key()
		return out.key(k)
	})
	if err != nil {
		return err
	}
	out.preamble(pre)
	if err := out.flush(); err != nil {
		return err
	}
	return out.to.Flush()
}

// A textWriter writes keys as commands.
type textWriter struct {
	to    *bufio.Writer
	begun bool
	db    int
	group effects.Group
	text  []byte
}

// preamble writes what stands before the keys, once.
func (t *textWriter) preamble(pre preamble) {
	if t.begun {
		return
	}
	t.begun = true
	_, _ = t.to.Write(aof.AppendInstant(nil, pre.nowUs/1000)) // bufio keeps its errors
	for _, code := range pre.libraries {
		t.add(0, "FUNCTION", []byte("LOAD"), []byte(code))
	}
}

// add adds one command, apart from those before it.
func (t *textWriter) add(db int, name string, args ...[]byte) {
	t.begin(db, name, len(args))
	for _, a := range args {
		t.group.Bytes(a)
	}
}

// begin begins a command with that many arguments after its name.
func (t *textWriter) begin(db int, name string, args int) {
	t.group.Separate()
	t.group.Begin(db, args+1)
	t.group.Text(name)
}

func (t *textWriter) flush() error {
	t.text, t.db = t.group.AppendTo(t.text[:0], t.db)
	t.group.Reset()
	_, err := t.to.Write(t.text)
	return err
}

// builders has the command that builds a value of each type from its elements.
var builders = [store.NumTypes]struct {
	command    string
	words      int  // of an element
	scoreFirst bool // before the member
}{
	store.TypeString: {command: "SET", words: 1},
	store.TypeList:   {command: "RPUSH", words: 1},
	store.TypeSet:    {command: "SADD", words: 1},
	store.TypeZSet:   {command: "ZADD", words: 2, scoreFirst: true},
	store.TypeHash:   {command: "HSET", words: 2},
}

// key writes one key, with itemsPerCommand elements in each command.
func (t *textWriter) key(k Key) error {
	name := []byte(k.Name)
	by := &builders[store.TypeOf(k.Value)]
	n := 0
	for elem, with := range commands.Elements(k.Value) {
		if n%itemsPerCommand == 0 {
			t.begin(k.DB, by.command, 1+by.words*min(k.Value.Len()-n, itemsPerCommand))
			t.group.Bytes(name)
		}
		n++
		if by.scoreFirst {
			elem, with = with, elem
		}
		t.group.Bytes(elem)
		if by.words == 2 {
			t.group.Bytes(with)
		}
	}
	if k.ExpireAtMs != 0 {
		t.add(k.DB, "PEXPIREAT", name, strconv.AppendInt(nil, k.ExpireAtMs, 10))
	}
	return t.flush()
}
