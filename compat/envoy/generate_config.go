package envoy

import (
	"fmt"
	"strings"
)

type domain struct {
	name  string
	nodes []*node
	all   []*node
}

// A node is a descriptor of a configuration.
type node struct {
	key, value string
	limit      *limit
	nodes      []*node
	flags      []string
}

type limit struct {
	requests  uint32
	unit      string
	unlimited bool
	name      string
	replaces  []string
}

const (
	maxDepth = 4
	maxNodes = 30 // of a domain
)

func (g *generator) newDomain() *domain {
	d := &domain{name: g.domainName()}
	d.nodes = g.level(d, 1)
	return d
}

// level returns the descriptors of one list, in which no key with its value is twice.
func (g *generator) level(d *domain, depth int) []*node {
	var nodes []*node
	taken := map[string]bool{}
	for range 1 + g.IntN(5) {
		n := &node{key: g.key(), value: g.configuredValue()}
		if g.percent(5) {
			n.key, n.value = pick(g, "pa*", "us*", "p*", "*"), ""
			if g.underscores() {
				n.key = pick(g, "a_b*", "a*", "a_b_*")
			}
		}
		name := n.key
		if n.value != "" {
			name += "_" + n.value
		}
		if taken[name] || len(d.all) >= maxNodes {
			continue
		}
		taken[name] = true
		d.all = append(d.all, n)
		nodes = append(nodes, n)
		if depth < maxDepth && g.percent(45) {
			n.nodes = g.level(d, depth+1)
		}
		if len(n.nodes) == 0 && g.percent(92) || g.percent(35) {
			n.limit = g.limit()
		}
		g.flag(n, strings.HasSuffix(name, "*"))
	}
	return nodes
}

func (g *generator) configuredValue() string {
	if g.percent(35) {
		if g.underscores() {
			return pick(g, "b*", "b_*", "_*")
		}
		return pick(g, "*", "x*", "xy*", "x*", "1*")
	}
	return g.plainValue()
}

func (g *generator) flag(n *node, wildcard bool) {
	for _, f := range []string{"detailed_metric", "value_to_metric", "shadow_mode", "quota_mode"} {
		if g.percent(12) {
			n.flags = append(n.flags, f)
		}
	}
	if wildcard && g.percent(40) {
		n.flags = append(n.flags, "share_threshold")
	}
}

func (g *generator) limit() *limit {
	l := &limit{requests: g.requests()}
	if g.percent(10) {
		l.unlimited = true
	} else {
		l.unit = pick(g, "second", "minute", "hour", "day", "week", "month", "year", "SECOND", "Minute")
	}
	if g.percent(20 + g.replace) {
		l.name = pick(g, "n1", "n2", "n3")
	}
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		if name != l.name && g.percent(g.replace) {
			l.replaces = append(l.replaces, name)
		}
	}
	return l
}

// files returns the configuration as YAML, one file for a domain. How it is spelled is
// random, too.
func (g *generator) files() map[string]string {
	files := map[string]string{}
	for i, d := range g.domains {
		var b strings.Builder
		fmt.Fprintf(&b, "domain: %s\n", g.text(d.name))
		if len(d.nodes) > 0 {
			b.WriteString("descriptors:\n")
		}
		g.writeNodes(&b, d.nodes, "  ")
		files[fmt.Sprintf("%c.yaml", 'a'+i)] = b.String()
	}
	return files
}

func (g *generator) writeNodes(b *strings.Builder, nodes []*node, indent string) {
	inner := indent + "  "
	for _, n := range nodes {
		fmt.Fprintf(b, "%s- key: %s\n", indent, g.text(n.key))
		if n.value != "" || g.percent(5) {
			fmt.Fprintf(b, "%svalue: %s\n", inner, g.text(n.value))
		}
		for _, f := range n.flags {
			fmt.Fprintf(b, "%s%s: %s\n", inner, f, g.yes())
		}
		if n.limit != nil {
			fmt.Fprintf(b, "%srate_limit:\n", inner)
			g.writeLimit(b, n.limit, inner+"  ")
		}
		if len(n.nodes) > 0 {
			fmt.Fprintf(b, "%sdescriptors: # level\n", inner)
			g.writeNodes(b, n.nodes, inner+"  ")
		}
	}
}

func (g *generator) writeLimit(b *strings.Builder, l *limit, indent string) {
	if l.unlimited {
		fmt.Fprintf(b, "%sunlimited: %s\n", indent, g.yes())
	} else {
		fmt.Fprintf(b, "%sunit: %s\n", indent, g.text(l.unit))
	}
	if !l.unlimited || g.percent(30) {
		fmt.Fprintf(b, "%srequests_per_unit: %d\n", indent, l.requests)
	}
	if l.name != "" {
		fmt.Fprintf(b, "%sname: %s\n", indent, g.text(l.name))
	}
	if len(l.replaces) > 0 {
		fmt.Fprintf(b, "%sreplaces:\n", indent)
		for _, r := range l.replaces {
			fmt.Fprintf(b, "%s  - name: %s\n", indent, g.text(r))
		}
	}
}

// text spells s plainly or within quotes. A plain scalar must not begin with "*", which
// makes an alias, and one with ": " or " #" would end there.
func (g *generator) text(s string) string {
	if s != "" && s[0] != '*' && s[0] != '_' && g.percent(70) && !strings.ContainsAny(s, ":|") {
		return s
	}
	if g.percent(50) {
		return "'" + s + "'"
	}
	return `"` + s + `"`
}

func (g *generator) yes() string { return pick(g, "true", "true", "yes", "on", "True") }
