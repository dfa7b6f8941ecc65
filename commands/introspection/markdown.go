package introspection

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
)

// Markdown returns the table of docs/commands.md: a row for each command and
// subcommand, by name.
func Markdown(t *commands.Table) string {
	var b strings.Builder
	b.WriteString("| Command | Arguments | Since | Different from Redis 7.0 |\n")
	b.WriteString("|---|---|---|---|\n")
	for _, c := range t.All() {
		if c.Handler != nil {
			writeRow(&b, c)
		}
		for i := range c.Subs {
			writeRow(&b, &c.Subs[i])
		}
	}
	return b.String()
}

// saidAbove are differences that the page states once, above the table.
var saidAbove = map[string]bool{"zlimit's own": true, "the texts are zlimit's own": true}

func writeRow(b *strings.Builder, c *commands.Command) {
	name := strings.ToUpper(strings.ReplaceAll(c.FullName(), "|", " "))
	cells := []string{name, "", c.Since, strings.ReplaceAll(c.Deviation, "|", `\|`)}
	if saidAbove[c.Deviation] {
		cells[3] = ""
	}
	if c.Syntax != "" {
		// A bar would end the cell, even inside code.
		cells[1] = "`" + strings.ReplaceAll(c.Syntax, "|", `\|`) + "`"
	}
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
