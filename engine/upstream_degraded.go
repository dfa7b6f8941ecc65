package engine

import (
	"slices"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
)

// dividers divide the limits of the commands that are call.Degradable.
var dividers = map[string]func(args [][]byte, share int64){
	"rl.allow":    divideAllow,
	"rl.mallow":   divideMallow,
	"cl.throttle": divideThrottle,
	"rl.reserve":  divideReserve,
}

// answerDegraded answers a decision by the keys of this engine, which are used for nothing else: under
// Open as if the key did not exist, under Local by a share of each limit. FULL says so.
func (s *Session) answerDegraded(c *call.Call) resp.Value {
	divide := dividers[c.Cmd.Name]
	args := append([][]byte(nil), c.Args...)
	mode := "open"
	if c.Policy.Mode == call.Local {
		mode = "local"
		divide(args, c.Policy.Share)
	}
	s.ctx.Reset()
	reply := s.execute(c.Cmd, args)
	if reply.Kind() == resp.KindMap {
		reply = resp.Map(append(slices.Clone(reply.Elems()), resp.Bulk("degraded"), resp.Bulk(mode))...)
	}
	if c.Policy.Mode == call.Open {
		reply = resp.Encode(reply, c.Proto)
		s.forget(c)
	}
	return reply
}

// forget removes the keys of a decision.
func (s *Session) forget(c *call.Call) {
	del, _ := s.engine.table.Resolve([][]byte{[]byte("del"), nil})
	s.execute(del, append([][]byte{[]byte("del")}, c.Cmd.AppendKeys(nil, c.Args)...))
}

// divideAllow divides the limits of RL.ALLOW key limit window [limit window ...] [options].
func divideAllow(args [][]byte, share int64) {
	at := 2
	for at+1 < len(args) && divideOne(args, at, share) {
		at += 2
	}
	for ; at+2 < len(args); at++ {
		if commands.EqualFold(args[at], "algo") && commands.EqualFold(args[at+1], "gcra") {
			divideOne(args, at+2, share)
		}
	}
}

// divideMallow divides the limits of RL.MALLOW numkeys key limit window [key limit window ...] [options].
func divideMallow(args [][]byte, share int64) {
	n, err := strconv.Atoi(string(args[1]))
	if err != nil {
		return
	}
	for i := 0; i < n && 4+3*i < len(args); i++ {
		divideOne(args, 3+3*i, share)
	}
}

// divideThrottle divides the burst and the count of CL.THROTTLE key max_burst count period [quantity].
func divideThrottle(args [][]byte, share int64) {
	divideOne(args, 2, share)
	divideOne(args, 3, share)
}

// divideReserve divides the limit of RL.RESERVE key limit window estimate HOLD ms ID id.
func divideReserve(args [][]byte, share int64) { divideOne(args, 2, share) }

// divideOne divides one argument, down to 1. It reports whether that is a number.
func divideOne(args [][]byte, at int, share int64) bool {
	n, err := strconv.ParseInt(string(args[at]), 10, 64)
	if err != nil {
		return false
	}
	args[at] = strconv.AppendInt(nil, max(n/share, min(n, 1)), 10)
	return true
}
