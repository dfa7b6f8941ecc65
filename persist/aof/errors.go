package aof

import "errors"

// Errors that callers distinguish.
var (
	// ErrRewriting is returned by Prepare while another rewrite is under way.
	ErrRewriting = errors.New("a rewrite of the append-only file is in progress")
	// ErrClosed is returned by methods of a closed log.
	ErrClosed = errors.New("the append-only file is closed")
	// ErrWaitCanceled is returned when the caller ended a wait.
	ErrWaitCanceled = errors.New("gave up waiting for the append-only file")
	// ErrDamaged is wrapped by every content error that --check-aof can explain.
	ErrDamaged = errors.New("the append-only file is damaged")

	errStarting = errors.New("the append-only file waits for its first rewrite")
	errBehind   = errors.New("the append-only file is too far behind: the disk does not take what is written")
)

// Texts for operators.
const (
	errNotPlain = "appendfilename and appenddirname must be names, not paths"
)
