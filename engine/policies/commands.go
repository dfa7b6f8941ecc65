package policies

import (
	"math"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

var (
	errNone    = resp.Error("ERR no policies are loaded: rl-policies names no file")
	errNoName  = resp.Error("ERR no such policy")
	errNoneSet = resp.Error("ERR rl-policies names no file")
)

// Row returns the row of RL.POLICY.
func (p *Policies) Row() commands.Command {
	row := func(
		name string, arity int, syntax, complexity, summary string, h commands.Handler,
	) commands.Command {
		return commands.Command{
			Name: name, Arity: arity,
			Flags: commands.Admin | commands.Loading | commands.Stale | commands.NoScript,
			Group: "rate-limit", Since: "0.1.0", Complexity: complexity, Syntax: syntax, Summary: summary,
			Handler: h, Deviation: "zlimit's own",
		}
	}
	return commands.Command{
		Name: "rl.policy", Arity: -2, Group: "rate-limit", Since: "0.1.0",
		Complexity: "Depends on subcommand.",
		Summary:    "Shows the policies of rl-policies and their decisions, or reads their files again.",
		Example:    "LIST", Deviation: "zlimit's own",
		Subs: []commands.Command{
			row("list", -2, "[domain]", "O(N) with N policies",
				"Returns name, mode and decisions of every policy, or of those of a domain.", p.list),
			row("get", 3, "name", "O(N) with N policies",
				"Returns a policy and its decisions.", p.get),
			row("check", 2, "", "O(N) with N bytes of files",
				"Reads the files without loading them, and returns what in them has no effect.", p.check),
			row("reload", 2, "", "O(N) with N bytes of files",
				"Reads the files again; if one has an error, nothing changes.", p.reload),
			commands.Help("rate-limit", "0.1.0"),
		},
	}
}

// RL.POLICY LIST [domain]
func (p *Policies) list(c *commands.Ctx) resp.Value {
	if len(c.Args) > 3 {
		return commands.WrongSubcommandArity(c)
	}
	if p.Set() == nil {
		return errNone
	}
	figures := p.Figures(math.MaxInt)
	out := c.Build(len(figures))
	for i := range figures {
		f := &figures[i]
		if len(c.Args) == 3 && f.Domain != string(c.Args[2]) {
			continue
		}
		if !out.Add(resp.Map(append(c.Values(10), resp.Bulk("name"), resp.Bulk(f.Name),
			resp.Bulk("mode"), resp.Bulk(f.Mode), resp.Bulk("allowed"), resp.Int(f.Allowed),
			resp.Bulk("denied"), resp.Int(f.Denied), resp.Bulk("shadow"), resp.Int(f.Shadow))...)) {
			break
		}
	}
	return out.Array()
}

// RL.POLICY GET name
func (p *Policies) get(c *commands.Ctx) resp.Value {
	set := p.Set()
	if set == nil {
		return errNone
	}
	one := set.Find(string(c.Args[2]))
	if one == nil {
		return errNoName
	}
	limits := make([]string, 0, 2*len(one.Limits))
	for _, q := range one.Limits {
		limits = append(limits, q.Limit, q.Window)
	}
	count := "each"
	if one.Domain.All {
		count = "all"
	}
	t := one.Counts().Tally()
	fields := []resp.Value{
		resp.Bulk("name"), resp.Bulk(one.Name), resp.Bulk("domain"), resp.Bulk(one.Domain.Name),
		resp.Bulk("file"), resp.Bulk(one.File), resp.Bulk("line"), resp.Int(int64(one.Line)),
		resp.Bulk("count"), resp.Bulk(count), resp.Bulk("mode"), resp.Bulk(Mode(one)),
		resp.Bulk("limits"), resp.Bulk(strings.Join(limits, " ")),
		resp.Bulk("algorithm"), resp.Bulk(one.Algorithm), resp.Bulk("cost"), resp.Int(one.Cost),
		resp.Bulk("slots"), resp.Int(one.Slots), resp.Bulk("lease"), resp.Bulk(one.Lease),
		resp.Bulk("title"), resp.Bulk(one.Title),
		resp.Bulk("replaces"), resp.Bulk(strings.Join(one.Replaces, " ")),
		resp.Bulk("allowed"), resp.Int(t.Allowed), resp.Bulk("denied"), resp.Int(t.Denied),
		resp.Bulk("shadow"), resp.Int(t.Shadow), resp.Bulk("units"), resp.Int(t.Units),
	}
	return resp.Map(fields...)
}

// RL.POLICY CHECK
func (p *Policies) check(*commands.Ctx) resp.Value {
	if p.config.String("rl-policies") == "" {
		return errNoneSet
	}
	set, err := p.Check()
	if err != nil {
		return resp.Error("ERR " + resp.OneLine(err.Error()))
	}
	return resp.Array(resp.Bulks(set.Warnings())...)
}

// RL.POLICY RELOAD
func (p *Policies) reload(*commands.Ctx) resp.Value {
	if p.config.String("rl-policies") == "" {
		return errNoneSet
	}
	if err := p.Load(); err != nil {
		return resp.Error("ERR " + resp.OneLine(err.Error()))
	}
	return resp.OK
}
