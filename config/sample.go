package config

import (
	"strings"

	"github.com/zlimit/zlimit/words"
)

// sampleWidth is the width of the comments in Sample.
const sampleWidth = 78

// sampleHead begins Sample.
const sampleHead = `# The directives of zlimit-server with their defaults, in the syntax of redis.conf.
#
# Remove the # before a directive to change it; what is not here stays as it is.
# zlimit-server FILE reads this file, and options behind it win:
# zlimit-server zlimit.conf --port 7000
#
# Besides directives there may be lines
#   include FILE                 reads another file at this place; FILE may be a pattern
#   user NAME RULE ...           a user of the ACL, as in ACL SETUSER
#   rename-command NAME NEW      gives a command another name; "" removes it
`

// Sample returns a configuration file in which every directive stands as a comment,
// with its default, below what it is for and the values that it has.
func Sample() string {
	var b strings.Builder
	b.WriteString(sampleHead)
	for _, section := range []struct {
		title string
		rows  []Directive
		has   func(d *Directive) bool
	}{
		{"Network and users", networkDirectives, (*Directive).effective},
		{"TLS", tlsDirectives, (*Directive).effective},
		{"Limiters, scripts, and the process", serverDirectives, (*Directive).effective},
		{"Persistence", durableDirectives, (*Directive).effective},
		{"Replication", replicationDirectives, (*Directive).effective},
		{"Cluster", clusterDirectives, (*Directive).effective},
		{"Upstream", upstreamDirectives, (*Directive).effective},
		{"Memory", memoryDirectives, (*Directive).effective},
		{"One value only: others are refused", table, func(d *Directive) bool { return len(d.Only) == 1 }},
		{
			"No effect: accepted for files and clients of Redis", table,
			func(d *Directive) bool { return d.NoEffect },
		},
	} {
		b.WriteString("\n\n# --- " + section.title + " ---\n")
		for i := range section.rows {
			if d := &section.rows[i]; section.has(d) {
				d.writeSample(&b)
			}
		}
	}
	return b.String()
}

// effective reports whether the directive has more than one value and an effect.
func (d *Directive) effective() bool { return len(d.Only) != 1 && !d.NoEffect }

func (d *Directive) writeSample(b *strings.Builder) {
	b.WriteByte('\n')
	line := "#"
	for _, word := range strings.Fields(d.About) {
		if len(line)+1+len(word) > sampleWidth && line != "#" {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
	if d.effective() && d.Syntax() != "TEXT" {
		b.WriteString("# Values: " + d.Syntax() + "\n")
	}
	b.WriteString("#" + d.Name)
	parts := []string{d.Default}
	if d.Kind.takesWords() && d.Default != "" {
		parts = strings.Split(d.Default, " ")
	}
	for _, word := range parts {
		b.WriteString(" " + words.Spell(word))
	}
	b.WriteByte('\n')
}
