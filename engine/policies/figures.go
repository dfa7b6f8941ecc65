package policies

import (
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/resp"
)

// A Figure is what was decided under one name.
type Figure struct {
	Name   string
	Domain string
	Mode   string // what becomes of a denial: see Mode; "detail" for a name made of a descriptor's values
	policy.Tally
}

// MaxFigures is how many policies, and how many names made of descriptors' values, RL.STATS, INFO and the
// metrics show.
const MaxFigures = 1000

// Figures returns what was decided: by policy, in the order of the files, and then by names made of
// descriptors' values, each at most most of them. Policies whose names run together, a.b of a key a.b and of
// b below a, are counted together: of those with one mode the first is shown.
func (p *Policies) Figures(most int) (all []Figure) {
	set := p.Set()
	if set == nil {
		return nil
	}
	shown := make(map[[2]string]bool) // names and modes
	for _, one := range set.Policies()[:min(most, len(set.Policies()))] {
		mode := Mode(one)
		if key := [2]string{one.Name, mode}; !shown[key] {
			shown[key] = true
			all = append(all, Figure{one.Name, one.Domain.Name, mode, one.Counts().Tally()})
		}
	}
	detailed, _ := p.registry.Detailed(most)
	for _, one := range detailed {
		all = append(all, Figure{one.Name(), one.Domain(), "detail", one.Tally()})
	}
	return all
}

// Mode returns what a policy does with what it denies: "enforced", "shadow" or "quota", or "unlimited".
func Mode(p *policy.Policy) string {
	switch {
	case p.Unlimited:
		return "unlimited"
	case p.Shadow:
		return "shadow"
	case p.Quota:
		return "quota"
	}
	return "enforced"
}

// Stats returns what RL.STATS shows of the policies; ok is false without any.
func (p *Policies) Stats() (_ resp.Value, ok bool) {
	figures := p.Figures(MaxFigures)
	var pairs []resp.Value
	for i := range figures {
		f := &figures[i]
		pairs = append(pairs, resp.Bulk(f.Name), resp.Map(
			resp.Bulk("mode"), resp.Bulk(f.Mode), resp.Bulk("allowed"), resp.Int(f.Allowed),
			resp.Bulk("denied"), resp.Int(f.Denied), resp.Bulk("shadow"), resp.Int(f.Shadow),
			resp.Bulk("units"), resp.Int(f.Units)))
	}
	return resp.Map(pairs...), len(figures) > 0
}
