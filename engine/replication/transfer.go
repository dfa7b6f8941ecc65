package replication

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// copy sends the keys to all that wait. It is the only goroutine that does.
func (m *Master) copy(stop <-chan struct{}) {
	t := &transfer{stop: stop}
	t.room, t.spares.reuses = make(chan struct{}, 1), true
	t.mu.Lock()
	first := t.restart(0)
	t.mu.Unlock()
	mark := NewID()
	m.mu.Lock()
	part := Everything
	if len(m.copies.waiting) > 0 {
		part = m.copies.waiting[0].said.Part
	}
	m.mu.Unlock()
	var followers []*Replica
	begin := func() Position {
		m.mu.Lock()
		defer m.mu.Unlock()
		followers = m.copies.take(part)
		m.options.Activated()
		// The length is sent before if one of them must know it.
		t.whole = slices.ContainsFunc(followers, func(r *Replica) bool { return !r.said.EOF })
		at, streams := m.stream.HereFor(len(followers))
		for i, r := range followers {
			head := fmt.Sprintf("+FULLRESYNC %s %d\r\n", at.ID, at.Offset)
			if r.said.SYNC {
				head = ""
			}
			t.mu.Lock()
			copied := t.open(first, 0)
			t.mu.Unlock()
			r.begins(head, !t.whole, copied, streams[i])
		}
		first = nil
		m.options.Log(false, "sending a copy of the keys", "replicas", len(followers))
		t.begin(mark)
		return at
	}
	err := m.options.Snapshot(t, part, stop, begin)
	if err == nil {
		err = t.complete(mark)
	}
	m.mu.Lock()
	m.copies.stop = nil
	if err != nil && first != nil { // it has not even begun
		followers = m.copies.take(part)
	}
	m.mu.Unlock()
	if err == nil {
		return
	}
	m.options.Log(true, "sending a copy of the keys failed", "error", err)
	t.finish(err)
	for _, r := range followers {
		r.Kill()
		r.Close()
	}
}

// errStopped ends a copy whose replicas are all gone.
var errStopped = errors.New("replication: nobody wants the copy any more")

// A transfer is a copy on its way to replicas. It does not run far ahead of the slowest.
type transfer struct {
	chain
	whole  bool    // kept until its length is known
	held   chain   // what is kept
	unsent *Reader // of it
	stop   <-chan struct{}
}

// aheadBytes is how much of a copy may wait in memory.
const aheadBytes = 4 << 20

func (t *transfer) begin(mark string) {
	if t.whole {
		t.unsent = t.held.open(t.held.restart(0), 0)
	} else {
		t.put([]byte("$EOF:" + mark + "\r\n"))
	}
}

// Write appends a piece of the copy. It blocks while the slowest replica is far behind, and fails if no
// replica is left.
func (t *transfer) Write(b []byte) (int, error) {
	if t.whole {
		t.held.write(b) // only this goroutine uses it
	} else {
		t.put(b)
	}
	return len(b), t.waitForRoom()
}

// waitForRoom blocks while a replica is far behind.
func (t *transfer) waitForRoom() error {
	for {
		t.mu.Lock()
		far, wanted := t.unread() > aheadBytes, len(t.readers) > 0
		t.mu.Unlock()
		switch {
		case !wanted:
			return errStopped
		case !far:
			return nil
		}
		select {
		case <-t.room:
		case <-t.stop:
			return errStopped
		}
	}
}

func (t *transfer) put(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.write(b)
}

// complete ends the copy.
func (t *transfer) complete(mark string) error {
	if !t.whole {
		t.put([]byte(mark))
		t.finish(io.EOF)
		return nil
	}
	t.put([]byte("$" + strconv.FormatInt(t.held.end, 10) + "\r\n"))
	t.held.finish(io.EOF)
	for {
		b, err := t.unsent.Next(nil) // what was sent is garbage then
		if err != nil {
			break
		}
		t.put(b)
		if err := t.waitForRoom(); err != nil {
			return err
		}
	}
	t.finish(io.EOF)
	return nil
}
