package engine

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/store"
)

// noInstant is when something happens that never does.
const noInstant = math.MaxInt64

// waits has the calls that wait for room, by the instant at which there may be something to do for them. A
// command looks at those of its keys before it runs and after it; a timer looks when nobody else does.
type waits struct {
	engine  *Engine
	firstMs atomic.Int64 // when the first one is due; noInstant: none waits

	mu      sync.Mutex
	queue   waitHeap // protected by mu, as are the fields below
	lastSeq int64
	stop    func() // stops the timer; nil: there is none
	timerMs int64  // when the timer calls run

	running sync.Mutex // its holder runs what is due, with session; it is acquired before any shard
	session *Session   // made when first needed
}

func (w *waits) init(e *Engine) {
	w.engine = e
	w.firstMs.Store(noInstant)
}

// waitForRoom makes b, which nobody has seen yet, a wait for room.
func (b *Blocked) waitForRoom(args [][]byte) {
	c := &b.session.work.ctx
	r := &roomWait{args: cloneArgs(args), at: notWaiting}
	r.ctx.Env, r.env.Caller, r.env.Guard = &r.env, b.session, c.Env.Guard
	r.ctx.DBIndex, r.ctx.Proto, r.ctx.Mode = c.DBIndex, c.Proto, c.Mode|commands.Final
	b.wait.Room.Claim = func() bool {
		r.claimed = b.waiter.Claim()
		return r.claimed
	}
	b.room = r
}

// enter makes a blocked session wait for room. The shards of its keys are locked.
func (w *waits) enter(b *Blocked) {
	s, r := b.session, b.room
	c := &s.work.ctx
	c.DB.WaitForChange(&b.waiter, b.wait.Keys)
	s.shown.countNames()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastSeq++
	r.seq, r.dueMs = w.lastSeq, w.nextLook(b)
	heap.Push(&w.queue, b)
	w.refresh()
}

// nextLook returns when to look at a call again unless its keys change. Its shards are locked.
func (w *waits) nextLook(b *Blocked) int64 {
	room := b.wait.Room
	if w.engine.store.IsFirst(&b.waiter) {
		return min(room.DueMs, room.UntilMs)
	}
	return room.UntilMs
}

// lookAt says when to look at a call again.
func (w *waits) lookAt(b *Blocked, ms int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.room.at != notWaiting && b.room.dueMs != ms {
		b.room.dueMs = ms
		heap.Fix(&w.queue, b.room.at)
		w.refresh()
	}
}

// leave ends the place of a call in the queues. Its shards are locked.
func (w *waits) leave(b *Blocked) {
	st := w.engine.store
	st.Signal(&b.waiter) // for who is first then
	st.RemoveWaiter(&b.waiter)
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.room.at != notWaiting {
		heap.Remove(&w.queue, b.room.at)
		w.refresh()
	}
}

// refresh brings firstMs and the timer up to date. It requires mu.
func (w *waits) refresh() {
	first := int64(noInstant)
	if len(w.queue) > 0 {
		first = w.queue[0].room.dueMs
	}
	w.firstMs.Store(first)
	w.setTimer(first)
}

// setTimer arranges that run is called at an instant of the server's clock. It requires mu.
func (w *waits) setTimer(atMs int64) {
	after, clock := w.engine.options.After, w.engine.clock
	if w.stop != nil {
		if w.timerMs <= atMs && atMs != noInstant {
			return // it looks then when to look next
		}
		w.stop()
		w.stop = nil
	}
	nowUs := clock.NowUs()
	if after == nil || atMs == noInstant || w.engine.pause.On() || clock.Frozen() && atMs > nowUs/1000 {
		return
	}
	w.timerMs = atMs
	us := int64(0)
	if atMs > nowUs/1000 {
		us = atMs*1000 - nowUs
	}
	w.stop = after((us+999)/1000, w.onTimer)
}

func (w *waits) onTimer() {
	w.mu.Lock()
	w.stop = nil
	w.mu.Unlock()
	w.run()
	w.mu.Lock()
	defer w.mu.Unlock()
	if first := w.firstMs.Load(); first > w.engine.clock.NowUs()/1000 {
		w.setTimer(first)
	} // else what is due waits for a Tick: a script holds its shards
}

// kick makes a timer look soon: a wait was ended by who did not hold its shards, a pause has ended, or a key
// has changed outside of a command.
func (w *waits) kick() {
	if w.engine.options.After != nil && w.firstMs.Load() != noInstant {
		w.engine.options.After(0, w.onTimer)
	}
}

// changed is called when keys may have changed outside of a command, such as one that was evicted. No shard
// is locked by the caller.
func (w *waits) changed() {
	if w.engine.store.HasChanged() {
		w.kick()
	}
}

// left is called by who has claimed a wait without its shards: who is behind it may be next.
func (w *waits) left(b *Blocked) {
	w.mu.Lock()
	waiting := b.room.at != notWaiting
	w.mu.Unlock()
	if waiting {
		w.lookAt(b, 0)
		w.kick()
	}
}

// endTime ends the time of a call, as CLIENT UNBLOCK does.
func (w *waits) endTime(b *Blocked) {
	b.room.over.Store(true)
	w.left(b)
}

// lookAtAll makes every call due, since the clock has moved.
func (w *waits) lookAtAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.queue {
		b.room.dueMs = 0
	}
	heap.Init(&w.queue)
	w.refresh()
}

// tick does what no timer has done.
func (w *waits) tick() {
	if w.firstMs.Load() <= w.engine.clock.NowUs()/1000 || w.engine.store.HasChanged() {
		w.run()
	}
}

// run looks at everything that is due.
func (w *waits) run() {
	w.running.Lock()
	defer w.running.Unlock()
	e := w.engine
	if w.session == nil {
		w.session = e.newSession(Peer{})
	}
	k := keyspace{w.session}
	if e.store.HasChanged() && e.store.ChangeWaiters() > 0 {
		k.serveApart(store.AllShards)
	}
	for !e.pause.On() {
		b, shards := w.first(e.clock.NowUs() / 1000)
		if b == nil || !k.serveApart(shards) {
			return
		}
	}
}

// first returns the call that is due first, and the shards of its keys; nil if none is due.
func (w *waits) first(nowMs int64) (b *Blocked, shards store.ShardSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 || w.queue[0].room.dueMs > nowMs {
		return nil, 0
	}
	return w.queue[0], w.queue[0].waiter.Shards()
}

// take returns the calls that are due and whose shards are among those that the caller holds, in the order
// in which they were due and have arrived. They are not due again until lookAt.
func (w *waits) take(shards store.ShardSet, nowMs int64) (due []*Blocked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due = w.queue.appendDue(nil, 0, shards, nowMs)
	slices.SortFunc(due, func(a, b *Blocked) int {
		return cmp.Or(cmp.Compare(a.room.dueMs, b.room.dueMs), cmp.Compare(a.room.seq, b.room.seq))
	})
	for _, b := range due {
		b.room.dueMs = noInstant
		heap.Fix(&w.queue, b.room.at)
	}
	w.refresh()
	return due
}

// A waitHeap has the calls that wait: the one that is due first, then the one that came first.
type waitHeap []*Blocked

// appendDue appends the calls at and below index i that are due and whose shards are among some. Below a call
// that is not due none is.
func (h waitHeap) appendDue(due []*Blocked, i int, shards store.ShardSet, nowMs int64) []*Blocked {
	if i >= len(h) || h[i].room.dueMs > nowMs {
		return due
	}
	if h[i].waiter.Shards()&^shards == 0 {
		due = append(due, h[i])
	}
	return h.appendDue(h.appendDue(due, 2*i+1, shards, nowMs), 2*i+2, shards, nowMs)
}

func (h waitHeap) Len() int { return len(h) }

func (h waitHeap) Less(i, j int) bool {
	a, b := h[i].room, h[j].room
	return a.dueMs < b.dueMs || a.dueMs == b.dueMs && a.seq < b.seq
}

func (h waitHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].room.at, h[j].room.at = i, j
}

// Push implements heap.Interface.
func (h *waitHeap) Push(x any) {
	b := x.(*Blocked)
	b.room.at = len(*h)
	*h = append(*h, b)
}

// Pop implements heap.Interface.
func (h *waitHeap) Pop() any {
	old := *h
	b := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	b.room.at = notWaiting
	return b
}
