package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var waitGroup = []commands.Command{{
	Name: "wait", Arity: 3, Flags: commands.NoScript, Categories: []string{"connection"},
	Tips:  []string{"request_policy:all_shards", "response_policy:agg_min"},
	Group: "generic", Since: "3.0.0", Complexity: "O(1)", Syntax: "numreplicas timeout", Handler: wait,
	Summary: "Blocks until replicas have what this connection has written; there are none.",
}}

// WAIT numreplicas timeout
//
// If numreplicas is 0, and in a transaction, it answers at once. Otherwise it waits
// for the timeout, as on a Redis without replicas.
func wait(c *commands.Ctx) resp.Value {
	replicas, ok := store.ParseInt(c.Args[1])
	if !ok {
		return commands.ErrNotInteger
	}
	timeoutMs, ok := store.ParseInt(c.Args[2])
	switch {
	case !ok:
		return commands.ErrTimeoutInteger
	case timeoutMs < 0:
		return commands.ErrTimeoutNegative
	}
	s := caller(c)
	if replicas <= 0 || s.subscriber.InExec {
		return resp.Int(0)
	}
	return s.Await(timeoutMs, func(over <-chan struct{}) resp.Value {
		<-over
		return resp.None
	}, func() resp.Value { return resp.Int(0) })
}
