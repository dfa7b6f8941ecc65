package aof

import "errors"

// What callers tell apart.
var (
	// ErrRewriting is answered to a rewrite while another one is under way.
	ErrRewriting = errors.New("a rewrite of the append-only file is in progress")
	// ErrClosed is answered by a log that was closed.
	ErrClosed = errors.New("the append-only file is closed")
	// ErrGaveUp is answered to a wait that its caller ended.
	ErrGaveUp = errors.New("gave up waiting for the append-only file")
	// ErrDamaged is in every error about a file's content that --check-aof can tell more about.
	ErrDamaged = errors.New("the append-only file is damaged")

	errStarting = errors.New("the append-only file waits for its first rewrite")
	errBehind   = errors.New("the append-only file is too far behind: the disk does not take what is written")
)

// Texts for operators.
const (
	errNotPlain = "appendfilename and appenddirname must be names, not paths"
)
