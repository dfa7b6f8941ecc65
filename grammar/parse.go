package grammar

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A parser reads one file.
type parser struct {
	file     string
	text     string
	at       int
	family   *Family
	defs     map[string]*definition
	programs []string
	loose    bool            // with any programs
	replaces bool            // definitions of other files
	labels   map[string]bool // those of the form or definition that is read
	uses     []use
}

// A use is a value that must be defined.
type use struct {
	name string
	args []string
	at   string
}

// A fault ends parsing.
type fault struct{ error }

func (p *parser) fail(format string, a ...any) {
	panic(fault{fmt.Errorf("%s: %s", p.place(), fmt.Sprintf(format, a...))})
}

func (p *parser) place() string {
	return fmt.Sprintf("%s:%d", p.file, 1+strings.Count(p.text[:min(p.at, len(p.text))], "\n"))
}

var (
	header     = regexp.MustCompile(`^([A-Za-z]+)((?: [A-Za-z]+)*):(?:[ \n]|$)`)
	weight     = regexp.MustCompile(`^([0-9]+)((?: @[a-z]+)*)(?: +|$)`)
	percent    = regexp.MustCompile(`^([0-9]+)%(?:[ \n]|$)`)
	rangeOf    = regexp.MustCompile(`^(-?[0-9]+)\.\.(-?[0-9]+)$`)
	repetition = regexp.MustCompile(`^x([0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*)(?:[ \n|;&)>\]]|$)`)
	keyword    = regexp.MustCompile(`^[A-Z][A-Z0-9_.-]+$`)
	label      = regexp.MustCompile(`^:([A-Za-z]+)`)
	name       = regexp.MustCompile(`^[A-Za-z]+$`)
)

// special ends a bare word.
const special = " \n|;&()[]<>{}\"`"

func (p *parser) parse() (err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case fault:
			err = f.error
		default:
			panic(f)
		}
	}()
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch line, _, _ := strings.Cut(rest, "\n"); {
		case line == "" || line[0] == '#':
			p.at += len(line) + 1
		case line == "replaces":
			p.replaces = true
			p.at += len(line) + 1
		case strings.HasPrefix(line, "share "):
			n, err := strconv.Atoi(line[len("share "):])
			if err != nil {
				p.fail("share: %v", err)
			}
			p.family.Share = n
			p.at += len(line) + 1
		case header.MatchString(rest):
			p.definition(header.FindStringSubmatch(rest))
		case weight.MatchString(rest):
			p.form(weight.FindStringSubmatch(rest))
		default:
			p.fail("a line is a weight and a form, or a name, a colon and values")
		}
	}
	return nil
}

func (p *parser) definition(parts []string) {
	before := p.defs[parts[1]]
	if before != nil && !before.replaces && !p.replaces {
		p.fail("%s is defined twice", parts[1])
	}
	p.labels = map[string]bool{}
	d := &definition{params: strings.Fields(parts[2]), replaces: p.replaces}
	for _, param := range d.params {
		p.labels[param] = true
	}
	p.at += len(parts[1]) + len(parts[2]) + 1
	d.alternatives = p.choice(func(s sequence) node {
		var c choice
		for _, n := range s {
			c = append(c, alternative{1, n})
		}
		return c
	})
	p.end()
	if before == nil || p.replaces {
		p.defs[parts[1]] = d
	}
}

func (p *parser) form(parts []string) {
	f := &Form{At: p.place()}
	f.Weight, _ = strconv.Atoi(parts[1])
	for _, tag := range strings.Fields(parts[2]) {
		set := map[string]*bool{
			"@exact": &f.Exact, "@alone": &f.Alone, "@inner": &f.Inner, "@scan": &f.Scan, "@held": &f.Held,
		}[tag]
		if set == nil {
			p.fail("unknown tag %s", tag)
		}
		*set = true
	}
	p.at += len(parts[0])
	p.labels = map[string]bool{}
	p.family.Forms = append(p.family.Forms, f)
	if line, _, _ := strings.Cut(p.text[p.at:], "\n"); strings.HasPrefix(line, "!") {
		f.Program = line[1:]
		if !p.loose && !slices.Contains(p.programs, f.Program) {
			p.fail("there is no program %s", f.Program)
		}
		p.at += len(line) + 1
		return
	}
	for glued := false; ; {
		s := p.sequence()
		if len(s) == 0 {
			p.fail("a command without words")
		}
		f.steps = append(f.steps, step{s, glued})
		if c := p.peek(); c != ';' && c != '&' {
			break
		}
		glued = p.text[p.at] == '&'
		p.at++
	}
	p.end()
}

// end requires the end of an entry.
func (p *parser) end() {
	if c := p.peek(); c != 0 {
		p.fail("unexpected %q", c)
	}
	p.at++
}

// peek returns the next character after blanks, and 0 at the end of an entry: a line that begins with a
// blank continues the one before.
func (p *parser) peek() byte {
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == ' ':
		case c == '\n' && p.at+1 < len(p.text) && p.text[p.at+1] == ' ':
		case c == '\n':
			return 0
		default:
			return c
		}
	}
	return 0
}

// choice reads alternatives; each is passed to as.
func (p *parser) choice(as func(sequence) node) choice {
	var c choice
	total, weighted := 0, 0
	for {
		p.peek()
		a := alternative{weight: 1}
		if w := percent.FindStringSubmatch(p.text[p.at:]); w != nil {
			a.weight, _ = strconv.Atoi(w[1])
			p.at += len(w[1]) + 1
			weighted++
			total += a.weight
		}
		a.node = as(p.sequence())
		c = append(c, a)
		if p.peek() != '|' {
			break
		}
		p.at++
	}
	if weighted > 0 && (weighted < len(c) || total != 100) {
		p.fail("the percentages add up to %d, of %d alternatives", total, len(c))
	}
	return c
}

func (p *parser) sequence() sequence {
	var s sequence
	for {
		if c := p.peek(); c == 0 || strings.IndexByte("|;&)]>", c) >= 0 {
			return s
		}
		s = append(s, p.word())
	}
}

// word reads pieces without blanks between them.
func (p *parser) word() node {
	var pieces concat
	for {
		piece := p.piece()
		if end := p.text[p.at-1]; end == '}' || end == ')' {
			if m := repetition.FindStringSubmatch(p.text[p.at:]); m != nil {
				piece = repeated{piece, counts(m[1])}
				p.at += len(m[1]) + 1
			}
		}
		pieces = append(pieces, piece)
		if p.at >= len(p.text) || strings.IndexByte(" \n|;&)]>", p.text[p.at]) >= 0 {
			break
		}
	}
	if len(pieces) == 1 {
		return pieces[0]
	}
	for i, piece := range pieces {
		if o, ok := piece.(option); ok {
			pieces[i] = literal(o)
		}
	}
	return pieces
}

// counts reads numbers and ranges, with commas between them.
func counts(list string) (out []int) {
	for _, part := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		lo, _ := strconv.Atoi(first)
		hi, _ := strconv.Atoi(last)
		if !isRange {
			hi = lo
		}
		for n := lo; n <= hi; n++ {
			out = append(out, n)
		}
	}
	return out
}

func (p *parser) piece() node {
	rest := p.text[p.at:]
	switch rest[0] {
	case '"', '`':
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			p.fail("%.20s: %v", rest, err)
		}
		p.at += len(quoted)
		text, _ := strconv.Unquote(quoted) // QuotedPrefix has checked it
		return literal(text)
	case '{':
		return p.value()
	case '(':
		p.at++
		c := p.choice(func(s sequence) node { return s })
		p.close(')')
		if m := label.FindStringSubmatch(p.text[p.at:]); m != nil {
			p.at += len(m[0])
			return p.labelled(c, m[1])
		}
		return c
	case '[':
		p.at++
		p.peek()
		m := maybe{percent: 50}
		if w := percent.FindStringSubmatch(p.text[p.at:]); w != nil {
			m.percent, _ = strconv.Atoi(w[1])
			p.at += len(w[1]) + 1
		}
		m.node = p.sequence()
		p.close(']')
		return m
	case '<':
		p.at++
		s := shuffled(p.sequence())
		p.close('>')
		return s
	}
	n := strings.IndexAny(rest, special)
	if n < 0 {
		n = len(rest)
	}
	if n == 0 {
		p.fail("unexpected %q", rest[0])
	}
	p.at += n
	return p.bare(rest[:n])
}

func (p *parser) bare(word string) node {
	if m := rangeOf.FindStringSubmatch(word); m != nil {
		lo, errLo := strconv.Atoi(m[1])
		hi, errHi := strconv.Atoi(m[2])
		if errLo != nil || errHi != nil || lo > hi {
			p.fail("%s is not a range", word)
		}
		return between{lo, hi}
	}
	if keyword.MatchString(word) {
		return option(word)
	}
	return literal(word)
}

func (p *parser) close(c byte) {
	if p.peek() != c {
		p.fail("%q is missing", c)
	}
	p.at++
}

// value reads {0..9}, {name}, {name argument}, {name:label} or {label}.
func (p *parser) value() node {
	inside, _, ok := strings.Cut(p.text[p.at+1:], "}")
	if !ok || strings.Contains(inside, "\n") {
		p.fail("%q is missing", '}')
	}
	at := p.place()
	p.at += len(inside) + 2
	if rangeOf.MatchString(inside) {
		return p.bare(inside)
	}
	inside, label, _ := strings.Cut(inside, ":")
	words := strings.Split(inside, " ")
	if !name.MatchString(words[0]) || label != "" && !name.MatchString(label) {
		p.fail("{%s} is not a value", inside)
	}
	if p.labels[words[0]] && len(words) == 1 && label == "" {
		return reference(words[0])
	}
	v := value{name: words[0]}
	for _, w := range words[1:] {
		v.args = append(v.args, argument{w, p.labels[w]})
	}
	p.uses = append(p.uses, use{v.name, words[1:], at})
	if label != "" {
		return p.labelled(v, label)
	}
	return v
}

func (p *parser) labelled(n node, label string) node {
	p.labels[label] = true
	return labelled{n, label}
}
