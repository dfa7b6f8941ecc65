package introspection

import (
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
)

// An argument is a node of the tree that COMMAND DOCS shows of a command's
// arguments.
type argument struct {
	name    string
	kind    string // as Redis names them: "key", "integer", "oneof", "block", "pure-token", ...
	token   string // the word before it
	keySpec int    // of a kind "key", or "pattern" of keys: the index of the key specification
	members []argument

	optional, multiple, multipleToken bool
}

// argumentsOf parses the Syntax of a row. The notation is that of Redis' manual:
//
//	key          lower case: an argument
//	LIMIT        upper case: a literal word; what follows it inside its
//	             brackets or alternative belongs to it
//	[ ... ]      optional
//	< a | b >    one of them; the angle brackets are needed only if something
//	             follows or precedes
//	x [x ...]    x once or more; for a long x, x [...]
//
// The notation says nothing about types and little about names; both follow
// conventions: see kinds, choiceNames, blockNames and tokenNames.
func argumentsOf(c *commands.Command) []argument {
	p := syntaxParser{words: syntaxWords(c.Syntax), command: c.FullName()}
	out := p.alternatives()
	p.expect("")
	typeArguments(c, out, new(int))
	return out
}

// syntaxWords splits a syntax into words and brackets.
func syntaxWords(syntax string) []string {
	for _, bracket := range []string{"[", "]", "<", ">", "|"} {
		syntax = strings.ReplaceAll(syntax, bracket, " "+bracket+" ")
	}
	return strings.Fields(syntax)
}

// A syntaxParser parses a syntax by recursive descent. Its depth is that of the
// brackets in our rows.
type syntaxParser struct {
	words   []string // not yet read
	command string   // that has the syntax
}

func (p *syntaxParser) peek() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

func (p *syntaxParser) next() string {
	word := p.peek()
	p.words = p.words[min(1, len(p.words)):]
	return word
}

// expect consumes the given word; "" is the end. It panics if another one comes: the
// row is wrong.
func (p *syntaxParser) expect(word string) {
	if got := p.next(); got != word {
		panic("introspection: a syntax has " + strconv.Quote(got) + " in the place of " + strconv.Quote(word))
	}
}

// value reads the name of an argument.
func (p *syntaxParser) value() argument {
	name := p.next()
	if name == "..." {
		panic("introspection: a syntax repeats what does not stand before its bracket")
	}
	return argument{name: name, kind: "string"}
}

// alternatives reads sequences separated by |, up to the closing bracket or the end.
// Several sequences become one oneof.
func (p *syntaxParser) alternatives() []argument {
	first := p.sequence()
	if p.peek() != "|" {
		return first
	}
	choice := argument{kind: "oneof", members: []argument{asOne(first)}}
	for p.peek() == "|" {
		p.next()
		choice.members = append(choice.members, asOne(p.sequence()))
	}
	choice.name = nameOfChoice(p.command, choice.members)
	return []argument{choice}
}

// sequence reads arguments up to |, the closing bracket or the end.
func (p *syntaxParser) sequence() []argument {
	var out []argument
	for {
		switch word := p.peek(); {
		case word == "" || word == "|" || word == "]" || word == ">":
			return out
		case word == "[":
			p.next()
			if n, ok := repeats(p.words, out); ok {
				out = append(out[:len(out)-n], repeated(out[len(out)-n:]))
				p.words = p.words[wordsBefore(p.words, "]")+1:]
				continue
			}
			one := asOne(p.alternatives())
			p.expect("]")
			one.optional = true
			out = append(out, one)
		case word == "<":
			p.next()
			out = append(out, asOne(p.alternatives()))
			p.expect(">")
		case isToken(word):
			out = append(out, p.tokenAndValues())
		default:
			out = append(out, p.value())
		}
	}
}

// tokenAndValues reads an upper-case word and its values: everything up to the next
// token on the same level.
func (p *syntaxParser) tokenAndValues() argument {
	token := p.next()
	var values []argument
	for word := p.peek(); word != "" && word != "|" && word != "]" && word != ">" &&
		!isToken(word); word = p.peek() {
		if word == "[" && (len(values) == 0 || !p.repeatsHere(token, values)) {
			break // it begins another option
		}
		if word == "[" {
			withToken := p.words[1] == token
			p.words = p.words[wordsBefore(p.words, "]")+1:]
			values = []argument{repeated(values)}
			values[0].multipleToken = withToken
			break
		}
		if word == "<" {
			p.next()
			values = append(values, asOne(p.alternatives()))
			p.expect(">")
			continue
		}
		values = append(values, p.value())
	}
	if len(values) == 0 {
		return argument{name: nameOfToken(token), kind: "pure-token", token: token}
	}
	one := asOne(values)
	one.token = token
	if name := choicesByToken[token]; name != "" {
		one.name = name
	}
	return one
}

// repeatsHere reports whether the next bracket repeats values, with or without their
// token.
func (p *syntaxParser) repeatsHere(token string, values []argument) bool {
	inside := p.words[1:]
	if len(inside) > 0 && inside[0] == token {
		inside = inside[1:]
	}
	n, ok := repeats(inside, values)
	return ok && n == len(values)
}

// repeats reports whether words begin with "x y ...]", x y being the names of the last
// arguments before, and returns how many these are. A bare "...]" repeats one argument.
func repeats(words []string, before []argument) (n int, ok bool) {
	n = wordsBefore(words, "...")
	if n > len(before) || n+1 >= len(words) || words[n+1] != "]" {
		return 0, false
	}
	if n == 0 {
		return 1, len(before) > 0
	}
	for i, a := range before[len(before)-n:] {
		if a.name != words[i] {
			return 0, false
		}
	}
	return n, true
}

// wordsBefore counts the words in front of the first such word.
func wordsBefore(words []string, word string) int {
	for i, w := range words {
		if w == word {
			return i
		}
	}
	return len(words)
}

func repeated(arguments []argument) argument {
	one := asOne(arguments)
	one.multiple = true
	return one
}

// asOne makes a block of several arguments, and returns a single one unchanged.
func asOne(arguments []argument) argument {
	if len(arguments) == 1 {
		return arguments[0]
	}
	return argument{
		kind: "block", name: nameOfBlock(arguments),
		members: append([]argument(nil), arguments...),
	}
}

// isToken reports whether a word of a syntax is literal.
func isToken(word string) bool {
	return word[0] >= 'A' && word[0] <= 'Z' && word == strings.ToUpper(word)
}
