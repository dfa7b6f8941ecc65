package scripting

import (
	"errors"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

// flags are the declarations in a script's shebang line, or of a function.
type flags struct {
	declared   bool // there was a #!lua line, or they are a function's
	noWrites   bool
	allowOOM   bool
	allowStale bool
	noCluster  bool
	crossSlots bool
}

func (f flags) writes() bool { return f.declared && !f.noWrites }

// add adds the flag of a name and reports whether it is known.
func (f *flags) add(name string) bool {
	f.noWrites = f.noWrites || name == "no-writes"
	f.allowOOM = f.allowOOM || name == "allow-oom"
	f.allowStale = f.allowStale || name == "allow-stale"
	f.noCluster = f.noCluster || name == "no-cluster"
	f.crossSlots = f.crossSlots || name == "allow-cross-slot-keys"
	return knownFlags[name]
}

// runRefusal returns the error if a script with these flags may not begin now, or "".
func (e *Engine) runRefusal(c *commands.Ctx, f flags, readOnly bool) string {
	text := ""
	if f.noCluster && c.Settings.Cluster {
		return errNoCluster
	}
	if f.writes() {
		text = e.writeRefusal(c)
	}
	if text == "" && !f.allowStale {
		text = e.staleRefusal(c)
	}
	if text == "" && readOnly && f.writes() {
		text = errReadOnlyEval
	}
	return text
}

var knownFlags = map[string]bool{
	"no-writes": true, "allow-oom": true, "allow-stale": true,
	"no-cluster": true, "allow-cross-slot-keys": true,
}

// parseShebang parses a `#!lua flags=...` line. The body starts at the end of
// that line, so that line numbers are right.
func parseShebang(source string) (f flags, body string, err error) {
	if !strings.HasPrefix(source, "#!") {
		return f, source, nil
	}
	end := strings.IndexByte(source, '\n')
	if end < 0 {
		return f, "", errors.New("Invalid script shebang") //nolint:staticcheck // Redis' text
	}
	words, ok := splitWords(source[:end])
	if !ok || len(words) == 0 {
		return f, "", errors.New("Invalid engine in script shebang") //nolint:staticcheck // Redis' text
	}
	if words[0] != "#!lua" {
		return f, "", errors.New("Unexpected engine in script shebang: " + words[0])
	}
	f.declared = true
	for _, word := range words[1:] {
		list, ok := strings.CutPrefix(word, "flags=")
		if !ok {
			return f, "", errors.New("Unknown lua shebang option: " + word)
		}
		if list == "" {
			continue
		}
		for _, name := range strings.Split(list, ",") {
			if !f.add(name) {
				return f, "", errors.New("Unexpected flag in script shebang: " + name)
			}
		}
	}
	return f, source[end:], nil
}

// splitWords splits a line at white space. Words may be quoted as in redis-cli.
// It returns false if a quote is not closed.
func splitWords(line string) (words []string, ok bool) {
	for {
		line = strings.TrimLeft(line, " \t\r\n\v\f")
		if line == "" {
			return words, true
		}
		var b strings.Builder
		for line != "" && !syntax.IsSpace(line[0]) {
			quote := line[0]
			if quote != '"' && quote != '\'' {
				b.WriteByte(quote)
				line = line[1:]
				continue
			}
			end := strings.IndexByte(line[1:], quote)
			if end < 0 {
				return nil, false
			}
			b.WriteString(line[1 : 1+end])
			line = line[end+2:]
			if line != "" && !syntax.IsSpace(line[0]) {
				return nil, false
			}
		}
		words = append(words, b.String())
	}
}
