package policy

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// What the mappings of a file have, before it is looked at as a whole.
type (
	domainFields struct {
		domain      string
		count       string
		descriptors []descriptorFields
		rateLimits  []actionsFields
	}
	descriptorFields struct {
		line       int
		key, value string
		rateLimit  *rateLimitFields
		below      []descriptorFields

		shadow, quota, detailed, valueMetric, share bool

		limits      []quotaFields
		algorithm   string
		cost        int64
		concurrency *concurrencyFields
		onFailure   string
	}
	rateLimitFields struct {
		line      int
		requests  uint32
		unit      string
		unlimited bool
		name      string
		replaces  []string
	}
	quotaFields struct {
		line   int
		limit  int64
		window string
	}
	concurrencyFields struct {
		line  int
		max   int64
		lease string
	}
	replacesFields struct{ name string }
)

var (
	domainTable = table[domainFields]{
		"domain": text(func(f *domainFields) *string { return &f.domain }),
		"count":  text(func(f *domainFields) *string { return &f.count }),
		"rate_limits": list(&actionsTable, "an entry of rate_limits",
			func(d *domainFields, f actionsFields, line int) {
				f.line = line
				d.rateLimits = append(d.rateLimits, f)
			}),
	}
	descriptorTable = table[descriptorFields]{
		"key":             text(func(f *descriptorFields) *string { return &f.key }),
		"value":           text(func(f *descriptorFields) *string { return &f.value }),
		"shadow_mode":     flag(func(f *descriptorFields) *bool { return &f.shadow }),
		"quota_mode":      flag(func(f *descriptorFields) *bool { return &f.quota }),
		"detailed_metric": flag(func(f *descriptorFields) *bool { return &f.detailed }),
		"value_to_metric": flag(func(f *descriptorFields) *bool { return &f.valueMetric }),
		"share_threshold": flag(func(f *descriptorFields) *bool { return &f.share }),
		"algorithm":       text(func(f *descriptorFields) *string { return &f.algorithm }),
		"cost":            integer(func(f *descriptorFields) *int64 { return &f.cost }),
		"on_failure":      text(func(f *descriptorFields) *string { return &f.onFailure }),
		"rate_limit": mapping(&rateLimitTable, "rate_limit",
			func(d *descriptorFields, f rateLimitFields, line int) {
				f.line = line
				d.rateLimit = &f
			}),
		"limits": list(&quotaTable, "limits", func(d *descriptorFields, f quotaFields, line int) {
			f.line = line
			d.limits = append(d.limits, f)
		}),
		"concurrency": mapping(&concurrencyTable, "concurrency",
			func(d *descriptorFields, f concurrencyFields, line int) {
				f.line = line
				d.concurrency = &f
			}),
	}
	rateLimitTable = table[rateLimitFields]{
		"requests_per_unit": func(r *reader, n *yaml.Node, into *rateLimitFields) error {
			requests, err := r.number(n, 32)
			into.requests = uint32(requests)
			return err
		},
		"unit":      text(func(f *rateLimitFields) *string { return &f.unit }),
		"unlimited": flag(func(f *rateLimitFields) *bool { return &f.unlimited }),
		"name":      text(func(f *rateLimitFields) *string { return &f.name }),
		"replaces": list(&replacesTable, "replaces", func(f *rateLimitFields, e replacesFields, _ int) {
			f.replaces = append(f.replaces, e.name)
		}),
	}
	replacesTable = table[replacesFields]{
		"name": text(func(f *replacesFields) *string { return &f.name }),
	}
	quotaTable = table[quotaFields]{
		"limit":  integer(func(f *quotaFields) *int64 { return &f.limit }),
		"window": text(func(f *quotaFields) *string { return &f.window }),
	}
	concurrencyTable = table[concurrencyFields]{
		"max":   integer(func(f *concurrencyFields) *int64 { return &f.max }),
		"lease": text(func(f *concurrencyFields) *string { return &f.lease }),
	}
)

// nested adds the keys whose values have descriptors, which refer to the tables that they are in.
func nested() {
	domainTable["descriptors"] = list(&descriptorTable, "a descriptor",
		func(d *domainFields, f descriptorFields, line int) {
			f.line = line
			d.descriptors = append(d.descriptors, f)
		})
	descriptorTable["descriptors"] = list(&descriptorTable, "a descriptor",
		func(d *descriptorFields, f descriptorFields, line int) {
			f.line = line
			d.below = append(d.below, f)
		})
}

// A setter reads the value of a key into a T.
type setter[T any] = func(r *reader, n *yaml.Node, into *T) error

// text reads a scalar as text.
func text[T any](at func(*T) *string) setter[T] {
	return func(r *reader, n *yaml.Node, into *T) error {
		switch {
		case n.Kind != yaml.ScalarNode:
			return r.errorf(n.Line, "error loading config file: text is expected, not %s", kindOf(n))
		case n.Tag == "!!null":
			*at(into) = ""
		case n.Tag == "!!binary":
			return n.Decode(at(into))
		default:
			*at(into) = n.Value
		}
		return nil
	}
}

// flag reads true or false.
func flag[T any](at func(*T) *bool) setter[T] {
	return func(r *reader, n *yaml.Node, into *T) error {
		*at(into) = false
		if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
			return nil
		}
		if n.Kind != yaml.ScalarNode || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 ||
			n.Decode(at(into)) != nil {
			return r.errorf(n.Line, "error loading config file: true or false is expected, not %s", kindOf(n))
		}
		return nil
	}
}

// integer reads a number from 0 on.
func integer[T any](at func(*T) *int64) setter[T] {
	return func(r *reader, n *yaml.Node, into *T) error {
		value, err := r.number(n, 63)
		*at(into) = int64(value)
		return err
	}
}

// number reads an unsigned number of so many bits.
func (r *reader) number(n *yaml.Node, bits int) (uint64, error) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return 0, nil
	}
	var value uint64
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&value) != nil || value>>bits != 0 {
		return 0, r.errorf(n.Line, "error loading config file: a number from 0 to %s is expected, not %s",
			strconv.FormatUint(1<<bits-1, 10), kindOf(n))
	}
	return value, nil
}

// mapping reads a mapping by a table.
func mapping[T, U any](t *table[U], where string, set func(into *T, f U, line int)) setter[T] {
	return func(r *reader, n *yaml.Node, into *T) error {
		if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
			return nil
		}
		if n.Kind != yaml.MappingNode {
			return r.errorf(n.Line, "error loading config file: %s is a mapping, not %s", where, kindOf(n))
		}
		var f U
		if err := t.read(r, n, &f, where); err != nil {
			return err
		}
		set(into, f, n.Line)
		return nil
	}
}

// list reads a list of mappings by a table.
func list[T, U any](t *table[U], where string, add func(into *T, f U, line int)) setter[T] {
	one := mapping(t, where, add)
	return func(r *reader, n *yaml.Node, into *T) error {
		if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
			return nil
		}
		if n.Kind != yaml.SequenceNode {
			return r.errorf(n.Line, "error loading config file: a list is expected, not %s", kindOf(n))
		}
		for _, e := range n.Content {
			e, err := r.resolve(e)
			if err != nil {
				return err
			}
			if err := one(r, e, into); err != nil {
				return err
			}
		}
		return nil
	}
}
