// Package aof keeps the append-only log: Redis 7.0's files, in Redis 7.0's
// format, written so that a crash or a power cut at any moment leaves a prefix
// of what was appended, in whole groups.
//
// The life of an effect: Append copies it to memory, under the locks of the
// shards that it changed, so that the order in the log is the order of the
// changes. A goroutine writes whatever has come together since it last looked;
// under appendfsync always it syncs after each such round, so that all who wait
// share one sync; under everysec Tick has it synced once a second beside the
// writing.
//
// The files. A directory holds a manifest (manifest.go), a base, which is the
// keyspace at one instant, and incremental files, of which only the last is
// written to. An incremental file is a row of commands. Each batch, what one
// write took to the file, stands between two lines that Redis skips, since they
// begin with '#':
//
//	#ZL:<unix ms>:<synced>   the latest instant of the batch; the file's first <synced> bytes are known to be on disk
//	#ZC:<length>:<crc32c>    after it: checksum of the <length> bytes before, which begin with that line
//
// With these a reader can tell the tail that a power cut tore, and that nobody
// was promised, from damage to what was once safe (verify.go). Files without
// them, as Redis writes, are read by Redis' rules.
package aof

import (
	"errors"

	"github.com/zlimit/zlimit/persist/disk"
)

// Policy is appendfsync.
type Policy uint8

// The policies, EverySec by default.
const (
	EverySec Policy = iota // once a second: a crash of the machine costs at most that
	Always                 // before anybody is answered
	No                     // when the operating system likes to
)

// Group is what one command, script or EXEC changed (store/effects has it). It
// appends itself as commands; selected is the database that the reader of buf
// then is in, -1: none yet.
type Group interface {
	AppendTo(buf []byte, db int) (out []byte, selected int)
}

// Options say where a log is and how it is kept.
type Options struct {
	FS      disk.FS       // the server's directory (dir)
	DirName string        // appenddirname, "appendonlydir" when empty
	Name    string        // appendfilename, "appendonly.aof" when empty
	Policy  func() Policy // appendfsync, asked each time and under locks: a load, no more; EverySec when nil
	// Pause, when there is one, is called by the writer before it takes what has
	// come together, except under Always: a sleep of a millisecond makes a
	// thousand writes a second of a hundred thousand. Nobody waits for it.
	Pause func()
	// Limit is how many bytes may wait in memory before Room holds callers up;
	// 64 MiB when 0. At four times as much, which takes callers that do not ask
	// Room, the log is given up and needs a rewrite.
	Limit int64
	// Log takes a line for the operator.
	Log func(warn bool, text string)
}

// Names and bounds by default: Redis'.
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

// in is a file of the log's directory.
func (o Options) in(name string) string { return o.DirName + "/" + name }
