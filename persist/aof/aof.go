// Package aof keeps the append-only log in Redis 7.0's files and format. A crash or a
// power cut at any moment leaves a prefix of what was appended, in whole groups.
//
// Append copies an effect to memory under the locks of the shards that it changed, so
// the order of the log is the order of the changes. A goroutine writes what has
// accumulated. Under appendfsync always it syncs after each round, or a caller of Lead
// does both in its place, and all waiters share that sync. Under everysec, Tick starts
// a sync once a second beside the writing.
//
// The directory holds a manifest (manifest.go), a base (the keyspace at one instant)
// and incremental files, of which only the last is written to. An incremental file is a
// sequence of commands. Each batch (one write to the file) stands between two lines,
// which Redis skips because they begin with '#':
//
//	#ZL:<unix ms>:<synced>   header: the latest instant of the batch; the file's
//	                         first <synced> bytes are known to be on disk
//	#ZC:<length>:<crc32c>    trailer: the checksum of the <length> bytes before it,
//	                         header included
//
// If a batch has a group of several commands, MULTI and EXEC are around all of the
// batch, not around each group: it is written at once anyway.
//
// With these lines a reader can tell a tail torn by a power cut, which nobody was
// promised, from damage to synced data (verify.go). Files without them, as Redis
// writes, are read by Redis' rules.
//
// This package is internal to zlimit: it may change in any release.
package aof

import (
	"errors"

	"github.com/zlimit/zlimit/persist/disk"
)

// Policy is the value of appendfsync.
type Policy uint8

// Values of Policy. The zero value is EverySec.
const (
	EverySec Policy = iota // once a second: a crash of the machine loses at most that much
	Always                 // before any client is answered
	No                     // when the operating system decides
)

// A Group holds the changes of one command, script or EXEC (see store/effects).
// AppendBareTo appends them as commands for a reader whose selected database is db, and
// returns the database selected afterwards; -1 means none yet. whole says that no
// reader may run a part of them.
type Group interface {
	AppendBareTo(buf []byte, db int) (out []byte, selected int, whole bool)
}

// Options configures a log.
type Options struct {
	FS      disk.FS // the server's directory (dir)
	DirName string  // appenddirname, "appendonlydir" when empty
	Name    string  // appendfilename, "appendonly.aof" when empty
	// Policy returns appendfsync. It is called often and under locks, so it must be one load. nil means
	// EverySec.
	Policy func() Policy
	// InPieces reports aof-rewrite-incremental-fsync, at each rewrite. nil means yes.
	InPieces func() bool
	// Pause, if not nil, is called by the writer before each round, except under
	// Always. A sleep of one millisecond turns a hundred thousand writes a second into
	// a thousand. No caller waits for it.
	Pause func()
	// Limit is how many bytes may wait in memory before WaitForSpace blocks; 0 means 64
	// MiB. At four times the limit, which only callers that skip WaitForSpace can
	// reach, the log is abandoned and needs a rewrite.
	Limit int64
	// Wrote and Synced are called after each write and each sync, on any goroutine, with
	// how long it took in microseconds of NowUs. Each may be nil; both need NowUs.
	Wrote, Synced func(us int64)
	NowUs         func() int64
	// Log logs a line for the operator.
	Log func(warn bool, text string)
}

// Defaults, as in Redis.
const (
	DefaultDirName = "appendonlydir"
	DefaultName    = "appendonly.aof"
	defaultLimit   = 64 << 20
)

func (o Options) withDefaults() (Options, error) {
	if o.DirName == "" {
		o.DirName = DefaultDirName
	}
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Policy == nil {
		o.Policy = func() Policy { return EverySec }
	}
	if o.InPieces == nil {
		o.InPieces = func() bool { return true }
	}
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	if o.Log == nil {
		o.Log = func(bool, string) {}
	}
	if !plainName(o.Name) || !plainName(o.DirName) {
		return o, errors.New(errNotPlain)
	}
	return o, nil
}

// in returns the path of a file in the log's directory.
func (o Options) in(name string) string { return o.DirName + "/" + name }
