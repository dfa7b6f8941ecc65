package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Help returns the directives as text for --help: name, values, default, what
// each is for. Those without effect come last, by name only.
func Help() string {
	var b, idle strings.Builder
	for i := range table {
		d := &table[i]
		if d.NoEffect {
			fmt.Fprintf(&idle, "  --%s\n", d.Name)
			continue
		}
		fmt.Fprintf(&b, "  --%s %s", d.Name, d.Syntax())
		if d.Default != "" {
			fmt.Fprintf(&b, " (default %s)", d.Default)
		}
		fmt.Fprintf(&b, "\n      %s\n", d.About)
	}
	return b.String() + "\nAccepted without effect, for files and clients written for Redis:\n" + idle.String()
}

// Syntax returns the values the directive takes, as help shows them.
func (d *Directive) Syntax() string {
	switch {
	case d.Only != nil:
		values := make([]string, len(d.Only))
		for i, v := range d.Only {
			values[i] = v
			if v == "" {
				values[i] = `""`
			}
		}
		return strings.Join(values, "|")
	case d.Kind == KindOutputBuffer:
		return "CLASS HARD SOFT SECONDS ..."
	}
	switch d.Kind {
	case KindBool:
		return "yes|no"
	case KindInt:
		return strconv.FormatInt(d.Min, 10) + ".." + strconv.FormatInt(d.Max, 10)
	case KindMemory:
		return "BYTES"
	case KindOctal:
		return "OCTAL"
	case KindEnum:
		return strings.Join(d.Values, "|")
	case KindPath, KindFileName:
		return "PATH"
	case KindList:
		return "WORD ..."
	}
	return "TEXT"
}
