package engine

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// doctorFlags make RL.DOCTOR a command of administrators: it shows the names of clients,
// and parts of the names of keys.
const doctorFlags = commands.Admin | commands.NoScript | commands.Loading | commands.Stale

// doctorGroup returns the row of RL.DOCTOR.
func (e *Engine) doctorGroup() []commands.Command {
	const group, since, own = "rate-limit", "0.2.0", "zlimit's own"
	return []commands.Command{{
		Name: "rl.doctor", Arity: -1, Flags: doctorFlags, Group: group, Since: since, Deviation: own,
		Complexity: "O(N) with N findings",
		Summary: "Lists what limiters that clients have written by hand do wrong, " +
			"with the key patterns and the clients.",
		Handler: e.doctorFindings,
		Subs: []commands.Command{
			commands.Help(group, since),
			{
				Name: "reset", Arity: 2, Flags: doctorFlags, Group: group, Since: since, Deviation: own,
				Complexity: "O(N) with N findings", Summary: "Forgets what was found.",
				Handler: e.doctorReset,
			},
		},
	}}
}

// RL.DOCTOR
func (e *Engine) doctorFindings(*commands.Ctx) resp.Value {
	all := e.doctor.Findings()
	if len(all) == 0 && !e.doctor.On() {
		return errDoctorOff
	}
	out := make([]resp.Value, len(all))
	for i := range all {
		f := &all[i]
		out[i] = resp.Map(
			resp.Bulk("problem"), resp.Bulk(f.Problem),
			resp.Bulk("count"), resp.Int(f.Count),
			resp.Bulk("pattern"), resp.Bulk(f.Pattern),
			resp.Bulk("command"), resp.Bulk(f.Command),
			resp.Bulk("client"), resp.Bulk(f.Client),
			resp.Bulk("first_ms"), resp.Int(f.FirstMs),
			resp.Bulk("last_ms"), resp.Int(f.LastMs),
			resp.Bulk("advice"), resp.Bulk(f.Advice))
	}
	return resp.Array(out...)
}

// RL.DOCTOR RESET
func (e *Engine) doctorReset(*commands.Ctx) resp.Value {
	e.doctor.Reset()
	return resp.OK
}

// observe sets the observer of the command, script or EXEC that begins, if rl-doctor is on.
func (s *Session) observe() {
	if s.observer == nil {
		s.observer = s.engine.doctor.NewClient(s.id, s.label)
	}
	s.ctx.Observer = nil
	if s.observer.Begin() {
		s.ctx.Observer = s.observer
	}
}

// label returns the name of the session's client, or its address without the port if it has
// none. It is called on the session's goroutine, the only one that sets the name.
func (s *Session) label() string {
	if name := s.public.name; name != "" {
		return name
	}
	addr := s.peer.Addr
	if colon := strings.LastIndexByte(addr, ':'); colon >= 0 {
		return addr[:colon]
	}
	return addr
}

// doctorShards is how many shards a tick examines for RL.DOCTOR.
const doctorShards = 8

// tickDoctor examines what RL.DOCTOR remembers of keys, some shards at a time, unless they
// are locked.
func (e *Engine) tickDoctor() {
	if !e.doctor.On() {
		return
	}
	for range doctorShards {
		shard := e.doctorAt
		e.doctorAt = (e.doctorAt + 1) % store.NumShards
		if one := store.ShardSet(1) << shard; e.store.TryLock(one) {
			e.doctor.Sweep(e.store, shard, e.clock.NowUs()/1000)
			e.store.Unlock(one)
		}
	}
}
