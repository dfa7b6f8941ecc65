package engine

import (
	"bufio"
	"bytes"
	"io"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// itemsPerCommand is how many elements one command of a rewritten log brings, as
// in Redis.
const itemsPerCommand = 64

// writeCommands is writeSnapshot for aof-use-rdb-preamble no: a base of
// commands.
func (e *Engine) writeCommands(w io.Writer, stop <-chan struct{}, begin func()) error {
	out := textWriter{to: bufio.NewWriterSize(w, 64<<10), db: -1}
	var at instant
	slow := delay{engine: e, directive: "rdb-key-save-delay"}
	head := func() {
		if out.begun {
			return
		}
		out.begun = true
		_, _ = out.to.Write(aof.AppendInstant(nil, at.nowUs/1000)) // it keeps its errors
		for _, code := range at.libraries {
			out.add(0, "FUNCTION", []byte("LOAD"), []byte(code))
		}
	}
	err := e.snapshot(stop, func() {
		begin()
		at = e.instant()
	}, func(k snapshotKey) error {
		head()
		slow.key()
		return out.key(k)
	})
	if err != nil {
		return err
	}
	head()
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

// add adds one command; what follows a Cut stands for itself.
func (t *textWriter) add(db int, name string, args ...[]byte) {
	t.group.Cut()
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
func (t *textWriter) key(k snapshotKey) error {
	key := []byte(k.Key)
	switch v := k.Value.(type) {
	case *store.String:
		t.add(k.DB, "SET", key, v.Bytes(nil))
	case *list.List:
		t.items(k.DB, "RPUSH", key, 1, func(yield func(...[]byte)) {
			v.Ascend(0, func(item string) bool {
				yield([]byte(item))
				return true
			})
		})
	case *set.Set:
		t.items(k.DB, "SADD", key, 1, func(yield func(...[]byte)) {
			for m := range v.All() {
				yield(m.AppendText(nil))
			}
		})
	case *hash.Hash:
		t.items(k.DB, "HSET", key, 2, func(yield func(...[]byte)) {
			v.All(func(field, value []byte) bool {
				yield(bytes.Clone(field), bytes.Clone(value))
				return true
			})
		})
	case *zset.Set:
		t.items(k.DB, "ZADD", key, 2, func(yield func(...[]byte)) {
			v.Ascend(0, func(e zset.Entry) bool {
				yield(resp.AppendFloat(nil, e.Score), e.AppendMember(nil))
				return true
			})
		})
	}
	if k.ExpireAtMs != 0 {
		t.add(k.DB, "PEXPIREAT", key, []byte(itoa(k.ExpireAtMs)))
	}
	return t.flush()
}

// items writes the elements of a collection, some in each command.
func (t *textWriter) items(db int, name string, key []byte, each int, all func(yield func(...[]byte))) {
	t.args = append(t.args[:0], key)
	all(func(item ...[]byte) {
		t.args = append(t.args, item...)
		if len(t.args) > each*itemsPerCommand {
			t.add(db, name, t.args...)
			t.args = t.args[:1]
		}
	})
	if len(t.args) > 1 {
		t.add(db, name, t.args...)
	}
}
