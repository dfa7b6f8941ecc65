// Package poll finds out which connections can go on. A Poller is what a loop waits on: the system's, for
// sockets, or one in memory, for connections within the process.
//
// This package is internal to zlimit: it may change in any release.
package poll

// An Event says that a connection can go on. It is reported once for each change, and so are changes from
// before that nobody has acted on.
type Event struct {
	Token    int32 // the connection's, as it was added
	Readable bool  // something has arrived, or the end of the stream
	Ended    bool  // more, or the end of the stream, may be behind what a read returns
}

// A Poller belongs to one goroutine at a time, except for Wake.
type Poller interface {
	// Wait blocks until there are events, or Wake was called. The events are valid until the next call.
	Wait() []Event
	// Poll returns the events that there are.
	Poll() []Event
	// Pass is Wait, but lets the scheduler look at all other descriptors of the process first. It does so by
	// itself only when no goroutine can run.
	Pass() []Event
	// Wake makes the present or the next Wait return. Any goroutine may call it, also after Close.
	Wake()
	// Close releases what the system has given.
	Close()
}
