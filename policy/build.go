package policy

import (
	"strconv"
	"strings"
)

// fixed is the algorithm of Envoy's rate limit service, which is the default of its form of a limit.
const fixed = "FIXED"

// addDomain adds what a document has.
func (r *reader) addDomain(line int, in *domainFields) error {
	if in.domain == "" {
		return r.errorf(line, "config file cannot have empty domain")
	}
	if r.set.domains[in.domain] != nil {
		return r.errorf(line, "duplicate domain '%s' in config file", in.domain)
	}
	d := &Domain{Name: in.domain, File: r.file, Line: line}
	switch in.count {
	case "", "each":
	case "all":
		d.All = true
	default:
		return r.errorf(line, "count is each or all, not '%s'", in.count)
	}
	if err := r.addRateLimits(d, in.rateLimits); err != nil {
		return err
	}
	r.set.domains[in.domain] = d
	return r.addBelow(d, &d.root, in.domain+".", in.descriptors, false)
}

// addBelow adds descriptors below a node, whose name is prefix. dynamic says that names to count under depend
// on a descriptor's values because of a node above.
func (r *reader) addBelow(
	d *Domain, n *node, prefix string, descriptors []descriptorFields, dynamic bool,
) error {
	for i := range descriptors {
		in := &descriptors[i]
		if in.key == "" {
			return r.errorf(in.line, "descriptor has empty key")
		}
		key, value := in.key, in.key
		if in.value != "" {
			key, value = in.key+"_"+in.value, in.value
		}
		name := prefix + key
		if n.children[key] != nil {
			return r.errorf(in.line, "duplicate descriptor composite key '%s'", name)
		}
		wild := strings.HasSuffix(key, "*")
		p, err := r.policy(d, in, name)
		if err != nil {
			return err
		}
		if in.share && !wild {
			return r.errorf(in.line, "share_threshold can only be used with wildcard values "+
				"(ending with '*'), but found key '%s'", key)
		}
		below := dynamic || in.valueMetric || in.share
		child := &node{policy: p, value: value, shared: in.share, valueMetric: in.valueMetric}
		if p != nil {
			p.dynamic = below || p.Detailed
			r.set.policies = append(r.set.policies, p)
		}
		if err := r.addBelow(d, child, name+".", in.below, below); err != nil {
			return err
		}
		if n.children == nil {
			n.children = make(map[string]*node)
		}
		n.children[key] = child
		if wild {
			n.addWildcard(key, child)
		}
	}
	return nil
}

// policy returns the limit of a descriptor, or nil if it has none.
func (r *reader) policy(d *Domain, in *descriptorFields, name string) (*Policy, error) {
	if in.rateLimit == nil && in.limits == nil && in.concurrency == nil {
		return nil, nil
	}
	p := &Policy{
		Name: name, Domain: d, File: r.file, Line: in.line, Cost: max(in.cost, 1), Shadow: in.shadow,
		Quota: in.quota, Detailed: in.detailed, Algorithm: strings.ToUpper(in.algorithm),
	}
	var ok bool
	if p.OnFailure, ok = failures[in.onFailure]; !ok && in.onFailure != "" {
		return nil, r.errorf(in.line, "on_failure is error, allow or deny, not '%s'", in.onFailure)
	}
	switch {
	case in.rateLimit != nil && in.limits != nil:
		return nil, r.errorf(in.line, "a descriptor has rate_limit or limits, not both")
	case in.rateLimit != nil:
		if err := r.rateLimit(p, in.rateLimit); err != nil {
			return nil, err
		}
	case in.limits == nil:
		return nil, r.errorf(in.line, "concurrency needs rate_limit or limits beside it")
	}
	if p.Unlimited && in.concurrency != nil {
		return nil, r.errorf(in.line, "concurrency needs a limit beside it, not unlimited")
	}
	for _, q := range in.limits {
		p.Limits = append(p.Limits, Quota{strconv.FormatInt(q.limit, 10), q.window})
	}
	if p.Algorithm == "" {
		p.Algorithm = "LOG"
		if p.Unit != UnknownUnit {
			p.Algorithm = fixed
		}
	}
	if c := in.concurrency; c != nil {
		p.Slots, p.Lease = c.max, c.lease
		if p.Slots == 0 {
			return nil, r.errorf(c.line, "concurrency needs max, at least 1, and lease")
		}
	}
	p.finish()
	return p, r.checkTerms(p, in.line)
}

// rateLimit reads Envoy's form of a limit.
func (r *reader) rateLimit(p *Policy, in *rateLimitFields) error {
	unit := UnknownUnit
	for u := Second; u < numUnits; u++ {
		if strings.EqualFold(in.unit, u.String()) {
			unit = u
		}
	}
	switch {
	case in.unlimited && unit != UnknownUnit:
		return r.errorf(in.line, "should not specify rate limit unit when unlimited")
	case !in.unlimited && unit == UnknownUnit:
		return r.errorf(in.line, "invalid rate limit unit '%s'", in.unit)
	}
	for _, title := range in.replaces {
		if title == "" {
			return r.errorf(in.line, "should not have an empty replaces entry")
		}
		if title == in.name {
			return r.errorf(in.line, "replaces should not contain name of same descriptor")
		}
	}
	p.Unit, p.Requests, p.Unlimited = unit, in.requests, in.unlimited
	p.Title, p.Replaces = in.name, in.replaces
	if !p.Unlimited {
		p.Limits = []Quota{{
			strconv.FormatUint(uint64(in.requests), 10), strconv.FormatInt(unit.Seconds(), 10) + "s",
		}}
	}
	return nil
}

// checkTerms fails if RL.CHECK could not decide by the policy.
func (r *reader) checkTerms(p *Policy, line int) error {
	for _, term := range [][][]byte{p.term, p.slots} {
		if term == nil {
			continue
		}
		text := make([]string, len(term))
		for i, word := range term {
			text[i] = string(word)
		}
		joined := strings.Join(text, " ")
		err, seen := r.checked[joined]
		if !seen {
			err = r.check(term)
			r.checked[joined] = err
		}
		if err != nil {
			return r.errorf(line, "%s", err)
		}
	}
	return nil
}

// words splits an algorithm from its parameter.
func words(s string) (w [][]byte) {
	for _, f := range strings.Fields(s) {
		w = append(w, []byte(f))
	}
	return w
}
