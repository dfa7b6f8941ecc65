package durable

import (
	"bufio"
	"bytes"
	"io"
	"strconv"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
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
	args  [][]byte
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
	t.group.Separate()
	t.group.Begin(db, len(args)+1)
	t.group.Text(name)
	for _, a := range args {
		t.group.Bytes(a)
	}
}

func (t *textWriter) flush() error {
	t.text, t.db = t.group.AppendTo(t.text[:0], t.db)
	t.group.Reset()
	_, err := t.to.Write(t.text)
	return err
}

// key writes one key.
func (t *textWriter) key(k Key) error {
	name := []byte(k.Name)
	switch v := k.Value.(type) {
	case *store.String:
		t.add(k.DB, "SET", name, v.Bytes(nil))
	case *list.List:
		t.items(k.DB, "RPUSH", name, 1, func(yield func(...[]byte)) {
			v.Ascend(0, func(item string) bool {
				yield([]byte(item))
				return true
			})
		})
	case *set.Set:
		t.items(k.DB, "SADD", name, 1, func(yield func(...[]byte)) {
			for m := range v.All() {
				yield(m.AppendText(nil))
			}
		})
	case *hash.Hash:
		t.items(k.DB, "HSET", name, 2, func(yield func(...[]byte)) {
			v.All(func(field, value []byte) bool {
				yield(bytes.Clone(field), bytes.Clone(value))
				return true
			})
		})
	case *zset.Set:
		t.items(k.DB, "ZADD", name, 2, func(yield func(...[]byte)) {
			v.Ascend(0, func(e zset.Entry) bool {
				yield(resp.AppendFloat(nil, e.Score), e.AppendMember(nil))
				return true
			})
		})
	}
	if k.ExpireAtMs != 0 {
		t.add(k.DB, "PEXPIREAT", name, strconv.AppendInt(nil, k.ExpireAtMs, 10))
	}
	return t.flush()
}

// items writes the elements of a collection, itemsPerCommand in each command. all
// calls its argument with the args words of each element.
func (t *textWriter) items(db int, name string, key []byte, args int, all func(yield func(...[]byte))) {
	t.args = append(t.args[:0], key)
	all(func(item ...[]byte) {
		t.args = append(t.args, item...)
		if len(t.args) > args*itemsPerCommand {
			t.add(db, name, t.args...)
			t.args = t.args[:1]
		}
	})
	if len(t.args) > 1 {
		t.add(db, name, t.args...)
	}
}
