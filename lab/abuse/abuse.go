package abuse

import (
	"context"
	"errors"
	"sync"
)

// A Row is one abuse.
type Row struct {
	Name  string
	About string

	// Directives configure the server, as on its command line. Both servers know
	// them, unless OnlyOurs is set.
	Directives []string
	Password   string // that the server requires; strangers do not know it
	TLS        bool   // the server has a port for TLS, too
	Doors      bool   // it has the doors of package doors, which redis-server has not
	OnlyOurs   bool   // redis-server has no such limit, and would not end

	// Setup prepares the server before anything is measured. It may be nil.
	Setup func(t *Target) error
	// Attack abuses the server for as many rounds as the target asks for, and closes
	// its connections. It returns an error if the server does not end the abuse as it
	// must.
	Attack func(ctx context.Context, t *Target) error

	// Limit is the field of INFO that counts what the abuse has run into, "" if none.
	Limit string
	// Reason says why others may notice more than the aim, "" if they must not.
	Reason string
}

// A Target is a server to abuse.
type Target struct {
	Addr     string
	TLSAddr  string // "" if the row does not need it, as of the doors
	GRPCAddr string
	HTTPAddr string
	Password string
	Rounds   int // of an attack; 0: until the context ends
	Size     int // of rows with many connections, their number; others have a hundred times as many keys
}

// dial connects as a client that knows the password.
func (t *Target) dial() (*Client, error) { return Dial(t.Addr, t.Password) }

// stranger connects as one that does not.
func (t *Target) stranger() (*Client, error) { return Dial(t.Addr, "") }

// rounds calls fn for every round of an attack, until it fails.
func (t *Target) rounds(ctx context.Context, fn func(i int) error) error {
	for i := 0; ctx.Err() == nil && (t.Rounds == 0 || i < t.Rounds); i++ {
		if err := fn(i); err != nil {
			return err
		}
	}
	return nil
}

// open opens n connections. After an error it closes them.
func (t *Target) open(n int, dial func() (*Client, error)) ([]*Client, error) {
	var all []*Client
	for range n {
		c, err := dial()
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func closeAll(all []*Client) {
	for _, c := range all {
		c.Close()
	}
}

// together calls fn n times concurrently, and returns their errors.
func together(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = fn(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}
