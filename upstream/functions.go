package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/ratelimit"
)

// This file has the library of functions brought to the nodes, or the script where there are none.

// functions is what is known of a node's library.
type functions struct {
	mu      sync.Mutex  // held while the library is loaded
	loaded  atomic.Bool // so that a transaction finds it
	scripts atomic.Bool // the node has no FUNCTION, or does not permit it

	refused   *refusal  // protected by mu: the last one
	refusedAt time.Time // protected by mu
}

// unloads are the commands that may remove the library.
var unloads = map[string]bool{
	"function|delete": true, "function|flush": true, "function|restore": true, "script|flush": true,
}

// unload notes that no node may have the library any more.
func (l *limits) unload() {
	u := l.upstream
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, n := range u.nodes {
		n.functions.loaded.Store(false)
	}
}

// maxLoads is how often a call may find that the library is not there.
const maxLoads = 3

// recover loads the library if a reply says that it is missing, or turns to scripts if there are no
// functions. It reports whether to send the unit again.
func (l *limits) recover(x *unit, reply []byte) bool {
	f := &x.node.functions
	missing := ratelimit.NeedsLoad(reply)
	switch {
	case x.tries.loads >= maxLoads:
		return false
	case missing:
	case x.callsFunction() && refusesFunctions(reply):
		f.scripts.Store(true)
	default:
		return false
	}
	x.tries.loads++
	f.loaded.Store(false)
	err := l.load(x.node)
	var later *notYet
	if err == nil || errors.As(err, &later) { // which prepare finds, too
		return true
	}
	x.err = fmt.Errorf("%s: %w", x.node.addr, err)
	return false
}

// callsFunction reports whether the unit has called a function, rather than a script.
func (x *unit) callsFunction() bool {
	return slices.ContainsFunc(x.items, func(it *item) bool { return isFunction(it.args) })
}

// isFunction reports whether a command calls a function.
func isFunction(args [][]byte) bool {
	return string(args[0]) == "FCALL" || string(args[0]) == "FCALL_RO"
}

// refusesFunctions reports whether a reply says that there is no FUNCTION, or no permission for it. One
// that is about a key says nothing about other calls.
func refusesFunctions(reply []byte) bool {
	if !isError(reply) {
		return false
	}
	text := strings.ToLower(errorText(reply))
	return strings.HasPrefix(text, "err unknown command") || strings.HasPrefix(text,
		"err unknown subcommand") ||
		strings.HasPrefix(text, "noperm") && strings.Contains(text, " to run the '")
}

// explainRefusal returns the reply of a function, and instead of an error that is about a command within
// it one that says whose permission is missing.
func (n *node) explainRefusal(reply []byte) []byte {
	if !isError(reply) {
		return reply
	}
	text := errorText(reply)
	if !strings.Contains(text, "The user executing the script") && // Redis 7.0
		!strings.Contains(text, "ACL failure in script") { // later ones
		return reply
	}
	return errorReply("UPSTREAM " + n.addr + ": its user lacks a permission that decisions need: " + text)
}

// A refusal is why a node does not take the library, in its own words.
type refusal struct{ text string }

// Error returns the reason.
func (r *refusal) Error() string { return "the library of functions cannot be loaded: " + r.text }

// A notYet is a reply that says that a node may take the library later: it is loading, or was a replica.
type notYet struct{ reply []byte }

// Error returns the node's words.
func (e *notYet) Error() string { return errorText(e.reply) }

// retryLoad is for how long a node that has refused the library is not asked again.
const retryLoad = time.Second

// load loads the library on a node, or the script, unless another call has done so meanwhile. A node's
// refusal holds for retryLoad.
func (l *limits) load(n *node) error {
	return n.functions.load(func() error {
		l.upstream.counts.libraries.Add(1)
		return l.loadOnce(n)
	})
}

// load calls once, unless the library is loaded or was refused lately.
func (f *functions) load(once func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loaded.Load() {
		return nil
	}
	if f.refused != nil && time.Since(f.refusedAt) < retryLoad {
		return f.refused
	}
	f.refused = nil
	err := once()
	if errors.As(err, &f.refused) {
		f.refusedAt = time.Now()
	}
	f.loaded.Store(err == nil)
	return err
}

// loadOnce is load without what is remembered. It requires that functions.mu is held.
func (l *limits) loadOnce(n *node) error {
	f := &n.functions
	without := ""
	if !f.scripts.Load() {
		reply, err := n.ask("FUNCTION", "LOAD", ratelimit.Library())
		switch {
		case err != nil:
			return err
		case isOK(reply), strings.Contains(errorText(reply), "already exists"):
			return nil
		case redirects[code(reply)] != 0:
			return &notYet{reply}
		case !refusesFunctions(reply):
			return &refusal{errorText(reply)}
		}
		f.scripts.Store(true)
		without = errorText(reply) + "; and no script instead: "
		l.upstream.options.Log.Warn("upstream: no functions, scripts are used instead", "node", n.addr,
			"error", errorText(reply))
	}
	if err := n.checkVersion(); err != nil {
		return err
	}
	reply, err := n.ask("SCRIPT", "LOAD", ratelimit.Script())
	switch {
	case err != nil:
		return err
	case redirects[code(reply)] != 0:
		return &notYet{reply}
	case isError(reply):
		return &refusal{without + errorText(reply)}
	}
	return nil
}

// oldest is the first version of Redis whose scripts can decide, in hundreds: 6.2.
const oldest = 602

// checkVersion returns an error if a node is too old for the script. One that does not say its version
// passes.
func (n *node) checkVersion() error {
	reply, err := n.ask("INFO", "server")
	if err != nil {
		return err
	}
	_, rest, ok := bytes.Cut(reply, []byte("redis_version:"))
	if !ok {
		return nil
	}
	version, _, _ := strings.Cut(string(rest), "\r")
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return nil
	}
	major, _ := strconv.Atoi(parts[0])
	minor, _ := strconv.Atoi(parts[1])
	if major*100+minor < oldest {
		return &refusal{"version " + version + " of the engine is too old, 6.2 is the first that can decide"}
	}
	return nil
}

// ask runs one command on a node, beside the calls of others.
func (n *node) ask(words ...string) ([]byte, error) {
	it := &item{}
	size := 0
	for _, w := range words {
		it.args = append(it.args, []byte(w))
		size += len(w)
	}
	j := &job{
		items: []*item{it}, bytes: size,
		due: time.Now().Add(n.upstream.options.Timeout), done: new(sync.WaitGroup),
	}
	j.done.Add(1)
	n.lane(0, resp.RESP2).submit(j, true)
	j.done.Wait()
	return it.reply, it.err
}

// prepare loads the library before a unit that needs it. A call that found it missing would be sent
// again behind those that followed it, and within a transaction it would be too late. It reports whether
// to send the unit; otherwise that has an error, or the node's reply.
func (l *limits) prepare(x *unit) bool {
	if x.limit == nil && len(x.limits) == 0 || x.node.functions.loaded.Load() {
		return true
	}
	err := l.load(x.node)
	var refused *refusal
	var later *notYet
	switch {
	case errors.As(err, &refused):
		x.err = fmt.Errorf("%s: %w", x.node.addr, err)
		return false
	case errors.As(err, &later):
		x.compose()
		for _, it := range x.items {
			it.reply = later.reply
		}
		return false
	}
	return true // after another error the call will fail likewise
}
