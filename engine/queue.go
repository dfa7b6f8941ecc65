package engine

import (
	"slices"
	"unsafe"

	"github.com/zlimit/zlimit/commands"
)

// A commandQueue is copies of commands. Arguments are kept in blocks that never move: a slice that grows by
// copying would leave the earlier copies to the commands that were queued before. Small blocks are reused.
type commandQueue struct {
	queued []queuedCommand
	args   [][]byte // the last block of arguments
	text   []byte   // the last block of their bytes
	held   int      // bytes of all blocks
}

type queuedCommand struct {
	cmd  *commands.Command
	args [][]byte
}

// Sizes of the queue of MULTI.
const (
	queuedBytes    = int(unsafe.Sizeof(queuedCommand{}))
	queuedArgBytes = int(unsafe.Sizeof([]byte{}))
)

// Sizes of the first and of large blocks. A command that needs more gets one of its own.
const (
	minTextBlock, maxTextBlock = 512, 64 << 10
	minArgsBlock, maxArgsBlock = 16, 2 << 10
)

// add appends a copy of a command.
func (t *commandQueue) add(cmd *commands.Command, args [][]byte) {
	size := 0
	for _, a := range args {
		size += len(a)
	}
	if cap(t.text)-len(t.text) < size {
		t.text = make([]byte, 0, max(size, min(max(2*cap(t.text), minTextBlock), maxTextBlock)))
		t.held += cap(t.text)
	}
	if cap(t.args)-len(t.args) < len(args) {
		t.args = make([][]byte, 0, max(len(args), min(max(2*cap(t.args), minArgsBlock), maxArgsBlock)))
		t.held += cap(t.args) * queuedArgBytes
	}
	first := len(t.args)
	for _, a := range args {
		at := len(t.text)
		t.text = append(t.text, a...)
		t.args = append(t.args, t.text[at:len(t.text):len(t.text)])
	}
	t.queued = append(t.queued, queuedCommand{cmd, t.args[first:len(t.args):len(t.args)]})
}

// bytes returns the memory of the queue, with what it keeps for later.
func (t *commandQueue) bytes() int { return cap(t.queued)*queuedBytes + t.held }

// reset empties the queue. The commands can be read until another is added. The buffers
// of a large queue are freed.
func (t *commandQueue) reset() {
	const maxIdleText, maxIdleArgs = 16 << 10, 512
	last := cap(t.text) + cap(t.args)*queuedArgBytes
	if cap(t.text) > maxIdleText || cap(t.args) > maxIdleArgs || cap(t.queued) > maxIdleArgs {
		*t = commandQueue{}
		return
	}
	*t = commandQueue{queued: t.queued[:0], args: t.args[:0], text: t.text[:0], held: last}
}

func cloneArgs(args [][]byte) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		out[i] = slices.Clone(a)
	}
	return out
}
