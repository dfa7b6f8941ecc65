package grammar

import (
	"strconv"
	"strings"
)

// A node is a part of a form. Expanding it gives words.
type node interface{ expand(r *run) []string }

// A run is what expanding one command needs.
type run struct {
	Dice
	call   func(name string, args []string) []string
	labels map[string]string
}

type (
	literal  string // sent as it is
	option   string // spelled in any case
	between  struct{ lo, hi int }
	concat   []node // one word
	sequence []node
	shuffled []node
	maybe    struct {
		percent int
		node
	}
	repeated struct {
		node
		counts []int // one is chosen
	}
	labelled struct {
		node
		label string
	}
	value struct {
		name string
		args []argument
	}
)

// An argument of a value is a text, or what a label names.
type argument struct {
	text  string
	label bool
}

// A choice is alternatives by weight.
type choice []alternative

type alternative struct {
	weight int
	node
}

// nodes returns the words of an alternative of a definition; an expansion chooses one.
func (a alternative) nodes() []node {
	if c, ok := a.node.(choice); ok {
		var out []node
		for _, one := range c {
			out = append(out, one.node)
		}
		return out
	}
	return []node{a.node}
}

// A definition is a choice with parameters.
type definition struct {
	params       []string
	alternatives choice
	replaces     bool // those of other files, whatever the order
}

func (d *definition) expand(r *run) []string { return d.alternatives.expand(r) }

func (l literal) expand(*run) []string { return []string{string(l)} }

func (o option) expand(r *run) []string {
	word := string(o)
	switch r.IntN(12) {
	case 0:
		word = strings.ToLower(word)
	case 1:
		word = word[:1] + strings.ToLower(word[1:])
	}
	return []string{word}
}

func (b between) expand(r *run) []string { return []string{strconv.Itoa(b.lo + r.IntN(b.hi-b.lo+1))} }

func (c concat) expand(r *run) []string {
	word := ""
	for _, n := range c {
		word += strings.Join(n.expand(r), " ")
	}
	return []string{word}
}

func (s sequence) expand(r *run) (out []string) {
	for _, n := range s {
		out = append(out, n.expand(r)...)
	}
	return out
}

func (s shuffled) expand(r *run) (out []string) {
	parts := make([][]string, len(s))
	for i, n := range s {
		parts[i] = n.expand(r)
	}
	for i := len(parts) - 1; i >= 0; i-- {
		j := r.IntN(i + 1)
		parts[i], parts[j] = parts[j], parts[i]
		out = append(out, parts[i]...)
	}
	return out
}

func (m maybe) expand(r *run) []string {
	if r.IntN(100) < m.percent {
		return m.node.expand(r)
	}
	return nil
}

func (p repeated) expand(r *run) (out []string) {
	for range p.counts[r.IntN(len(p.counts))] {
		out = append(out, p.node.expand(r)...)
	}
	return out
}

func (v value) expand(r *run) []string {
	var args []string
	for _, a := range v.args {
		if a.label {
			a.text = r.labels[a.text]
		}
		args = append(args, a.text)
	}
	return r.call(v.name, args)
}

func (l labelled) expand(r *run) []string {
	out := l.node.expand(r)
	r.labels[l.label] = strings.Join(out, " ")
	return out
}

// A reference is the value of a label again.
type reference string

func (l reference) expand(r *run) []string { return []string{r.labels[string(l)]} }

func (c choice) expand(r *run) []string {
	total := 0
	for _, a := range c {
		total += a.weight
	}
	n := r.IntN(total)
	for _, a := range c {
		if n -= a.weight; n < 0 {
			return a.expand(r)
		}
	}
	panic("unreachable: the weights add up to the total")
}

// firstWords returns the constant words that an expansion can begin with.
func firstWords(n node, defs map[string]*definition) (out []string) {
	switch n := n.(type) {
	case literal:
		return []string{string(n)}
	case option:
		return []string{string(n)}
	case sequence:
		if len(n) > 0 {
			return firstWords(n[0], defs)
		}
	case choice:
		for _, a := range n {
			out = append(out, firstWords(a.node, defs)...)
		}
	case labelled:
		return firstWords(n.node, defs)
	case value:
		if d := defs[n.name]; d != nil {
			return firstWords(d.alternatives, defs)
		}
	}
	return out
}
