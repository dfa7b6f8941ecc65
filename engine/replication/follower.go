package replication

import (
	"errors"
	"io"
)

// A LinkState is how far a link is, as ROLE names it.
type LinkState string

// The states of a link.
const (
	Connect    LinkState = "connect"    // it will connect at a Tick
	Connecting LinkState = "connecting" // it connects
	Handshake  LinkState = "handshake"  // it is connected and introduces itself
	Syncing    LinkState = "sync"       // it gets a copy of the keys
	Connected  LinkState = "connected"  // it follows the stream
	Stopped    LinkState = "stopped"    // it met what it cannot follow: somebody must act
)

// A Follower is the server that a link feeds. Its methods are called on the link's goroutine, one at a
// time.
type Follower interface {
	// Position returns what the follower has, or false if that is in no history.
	Position() (Position, bool)

	// Continue says that the stream goes on from Position, in a history of that identifier.
	Continue(id string) error

	// Load replaces all keys by those of a copy in the form of dump.rdb, which stands for a position.
	// An error that wraps ErrForeign stops the link; after others the link tries again. Unless the copy
	// is whole and can be held, nothing has changed. progress is called now and then.
	Load(f io.ReaderAt, size int64, at Position, progress func()) error

	// Apply runs a command of the stream. raw is how it arrived; without args it is an empty line.
	// Position stays where it is within a transaction. Apply may wait, but returns soon after stop is closed.
	Apply(args [][]byte, raw []byte, stop <-chan struct{}) error

	// Spool returns a place for a copy.
	Spool() (Spool, error)

	// Idle is called when everything that has arrived was applied.
	Idle()

	// Connected is called when the link begins to follow the stream, and when that ends.
	Connected(up bool)
}

// ErrForeign is wrapped by errors about what a server of this kind does not hold or cannot follow.
var ErrForeign = errors.New("what the master has sent cannot be followed")

// A Spool holds a copy that arrives.
type Spool interface {
	io.Writer
	io.ReaderAt
	Close() error // it removes the copy
}

// LinkOptions configures a Link.
type LinkOptions struct {
	Addr string // host:port
	// Dial connects. It returns soon after stop is closed.
	Dial func(addr string, stop <-chan struct{}) (io.ReadWriteCloser, error)
	// Settings returns what the directives say now.
	Settings func() LinkSettings
	Follower Follower
	NowUs    func() int64 // real time
	// Log writes a line of the server's log.
	Log func(warning bool, text string, attrs ...any)
	// Promoted, if it is not nil, makes the first PSYNC ask the other server, which is a replica yet, to be
	// a master (PSYNC id offset FAILOVER). It is called on the link's goroutine with the outcome: whether
	// the link follows it now. Later attempts are as usual.
	Promoted func(accepted bool)
}

// LinkSettings are the directives that a Link follows.
type LinkSettings struct {
	User, Password string // masteruser, masterauth
	Port           int    // what is announced
	IP             string // replica-announce-ip
	TimeoutUs      int64  // repl-timeout
}
