package engine

import (
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/doctor"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/engine/tracking"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/upstream/call"
)

// A Session is one client of an engine. Its methods belong to one goroutine unless
// they say otherwise; other sessions see only what Publish last showed.
type Session struct {
	work    *Work // what its commands need while they run; nil: none does
	engine  *Engine
	peer    Peer
	id      int64
	db      int // the selected database, while it has no work
	wrote   wrote
	who     account
	seen    watching
	inbox   inbox
	answers answers
	ending  ending
	side    replicaSide
	order   arrivals

	tx       transaction
	tracking tracking.Client
	exec     executor
	shown    shown
}

// A Peer is the connection behind a session, as CLIENT LIST and CLIENT KILL know it.
type Peer struct {
	Addr, LocalAddr string
	Network         string // whose failed logins count together: the IP address or network of Addr
	Name            string // of CLIENT LIST, until CLIENT SETNAME
	FD              int
	TLS             bool // it is encrypted
	Local           bool // on this machine: "enable-debug-command local" admits it
	Owner           bool // the program that runs the engine: it needs no password and may debug
	Observes        bool // it shows figures, which count neither it nor its calls; without Shares
	Streams         bool // it sends replies of resp.KindStream piece by piece, and reads no others
	Forwards        bool // it calls ForwardBatch
	Shares          bool // it lends the session a Work, which others use in turns; see Work.Serve
	// KeepsArgs says that the arguments of a call do not change until the next call has
	// begun, or EndCall or Publish was called. See EndCall.
	KeepsArgs bool
	// Kill closes the connection. Any goroutine may call it. If it is nil, the session cannot be killed.
	Kill func()
	// Wake makes the connection ask Ready. Any goroutine may call it. If it is nil,
	// the connection asks often enough.
	Wake func()
	// Waits is called when the session is about to wait for anything, on its goroutine, so that
	// others go on without it. It may be nil.
	Waits func()
	// Orderer is the connection; nil: the order of its input is unknown.
	Orderer Orderer
	// Buffers returns the connection's buffers while it runs a command, on its
	// goroutine. If it is nil, those of Publish are shown.
	Buffers func() Buffers
}

// An Orderer is a connection that knows how far others have come with their input.
type Orderer interface {
	// AwaitEarlier blocks until another connection, of the same server, has run what reached it before
	// the command under way, though not for long, and reports whether it has. It is called on the
	// session's goroutine, which holds no lock.
	AwaitEarlier(other Orderer) bool
}

// shown is what other sessions can see of this one.
type shown struct {
	session *Session
	blocked atomic.Pointer[Blocked] // written by the session's goroutine; nil: it is not blocked
	output  atomic.Int64            // bytes of replies that the client has not read, see CountOutput
	mu      sync.Mutex
	public  public // protected by mu
}

// public is the part of shown that Publish brings up to date.
type public struct {
	name, libName, libVersion string
	db, proto                 int
	queued, multiBytes        int               // commands in MULTI (-1: none open), and bytes of their queue
	nameBytes                 int64             // of its watches, subscriptions and tracking prefixes
	topics                    [pubsub.Kinds]int // subscriptions
	lastCommand               *commands.Command
	createdUs, lastUs         int64
	noEvict, noTouch, blocked bool
	tracking                  *tracking.Mode       // nil: CLIENT TRACKING OFF
	replica                   *replication.Replica // nil unless it has sent PSYNC or SYNC
	monitoring                bool
	buffers                   Buffers
}

// Buffers are the sizes that CLIENT LIST reports, in bytes. Memory is of all
// buffers, without the replies of CountOutput.
type Buffers struct {
	Query, QueryFree int
	Memory           int
}

// answers is how the client wants to be answered.
type answers struct {
	session *Session
	mode    replyMode
	bounds  commands.OutputBounds
	silent  atomic.Bool // CLIENT REPLY OFF: MONITOR sends it nothing
	proto   int
	noTouch bool // CLIENT NO-TOUCH: reading does not count as use
}

// replyMode is CLIENT REPLY.
type replyMode uint8

const (
	replyOn       replyMode = iota
	replyOff                // nothing is answered
	replySkipNext           // nothing is answered to the next command
	replySkip               // nothing is answered to this command
)

// An account is whose session it is, and what he may do.
type account struct {
	session       *Session
	user          atomic.Pointer[acl.User] // never nil; written by the session's goroutine
	guard         guard                    // of the rules of Env.Guard
	authenticated bool
}

// A guard decides what a restricted session's scripts may call. It is the rules as they
// were when the command, script or EXEC began.
type guard struct {
	session *Session
	rules   *acl.Rules
}

// wrote is where a session's own writes end.
type wrote struct {
	log    durable.Position
	stream int64 // for replicas
}

// A transaction is what a session has watched, and has queued since MULTI.
type transaction struct {
	session  *Session
	watch    *store.Watch
	upstream call.Watch
	open     bool
	broken   bool // a command was refused while queueing: EXEC fails
	commandQueue
}

// An inbox is the messages that have come for a session.
type inbox struct {
	session    *Session
	subscriber pubsub.Subscriber
	subscribed bool   // to any channel or pattern
	waiting    []byte // encoded messages to send before the reply of the call under way
}

// ending says whether a session ends, and why.
type ending struct {
	session *Session
	closing bool         // the connection is closed after the reply
	aborted bool         // see Aborted
	dead    atomic.Bool  // killed, see die
	leaving atomic.Int64 // bytes it was evicted for, until it has closed

	canceler durable.Canceler // see Cancel
	canceled bool             // see Canceled
}

// A replicaSide is what a session is to replication.
type replicaSide struct {
	session *Session
	follows *follower            // of the session that runs what a master sends
	replica *replication.Replica // of a session that has sent PSYNC
	said    replication.Said     // what it has said by REPLCONF
}

// arrivals is the part of a session that lets earlier commands of others run first.
type arrivals struct{ session *Session }

// watching is who sees the commands of a session: MONITOR, RL.TRACE and RL.DOCTOR. The session may itself be
// a monitor.
type watching struct {
	session    *Session
	monitoring bool
	trace      *trace         // nil until there is a monitor
	observer   *doctor.Client // nil until rl-doctor is on
}

// A trace is the commands that a command, script or EXEC has run, as MONITOR shows them.
type trace struct {
	from  string // the client, between the brackets
	lines []byte // without timestamps
	ends  []int  // of the lines
}

// An executor runs what a session has admitted.
type executor interface {
	// execute runs a command and returns its reply, or resp.None if that comes later.
	execute(cmd *commands.Command, args [][]byte) resp.Value
	// refuseQueued returns the error reply for a command that EXEC could not run, or resp.None.
	refuseQueued(cmd *commands.Command, args [][]byte) resp.Value
	// finish returns the reply of Do for that of its command: behind those of the calls before it.
	finish(reply resp.Value) resp.Value
	// flush runs the calls that execute has put off, and returns their replies.
	flush() resp.Value
}

// Proto returns the protocol to encode replies in.
func (s *Session) Proto() int { return s.answers.proto }

// Closing reports whether the connection is to be closed after the replies so far have been sent.
func (s *Session) Closing() bool { return s.ending.closing }

// ID returns the session's number, as CLIENT ID does. The first is 1.
func (s *Session) ID() int64 { return s.id }

// quiet reports whether CLIENT REPLY drops a reply that is due now.
func (y *answers) quiet() bool { return y.mode == replyOff || y.mode == replySkip }

// Aborted reports whether the connection is to be closed without sending the
// replies so far: its peer speaks HTTP.
func (s *Session) Aborted() bool { return s.ending.aborted }

// caller returns the session that runs a command of this package's groups.
func caller(c *commands.Ctx) *Session { return c.Env.Caller.(*Session) }
