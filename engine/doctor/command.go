package doctor

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// flags make RL.DOCTOR a command of administrators: it shows the names of clients,
// and parts of the names of keys.
const flags = commands.Admin | commands.NoScript | commands.Loading | commands.Stale

// Commands returns the row of RL.DOCTOR. doctor is called at run time: the Doctor is created after the table.
func Commands(doctor func() *Doctor) []commands.Command {
	const group, since, own = "rate-limit", "0.1.0", "zlimit's own"
	return []commands.Command{{
		Name: "rl.doctor", Arity: -1, Flags: flags, Group: group, Since: since, Deviation: own,
		Complexity: "O(N) with N findings",
		Summary: "Lists what limiters that clients have written by hand do wrong, " +
			"with the key patterns and the clients. CONFIG SET rl-doctor yes turns it on.",
		Handler: func(*commands.Ctx) resp.Value { return doctor().reply() },
		Subs: []commands.Command{
			commands.Help(group, since),
			{
				Name: "reset", Arity: 2, Flags: flags, Group: group, Since: since, Deviation: own,
				Complexity: "O(N) with N findings", Summary: "Forgets what was found.",
				Handler: func(*commands.Ctx) resp.Value {
					doctor().Reset()
					return resp.OK
				},
			},
		},
	}}
}

// off is a status, because redis-cli shows that as it is, without quotes or "(error)".
var off = resp.Status("RL.DOCTOR is off and has found nothing. Turn it on with CONFIG SET rl-doctor yes, " +
	"let the clients work for a while, and call RL.DOCTOR again.")

// reply is RL.DOCTOR's.
func (d *Doctor) reply() resp.Value {
	all := d.Findings()
	if len(all) == 0 && !d.On() {
		return off
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
