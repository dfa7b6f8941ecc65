package commands

import "strings"

// Markdown returns the table of docs/commands.md: a row for each command and
// subcommand, by name, of HELP those that differ from Redis.
func Markdown(t *Table) string {
	var b strings.Builder
	b.WriteString("| Command | Arguments | Since | Different from Redis 7.0 |\n")
	b.WriteString("|---|---|---|---|\n")
	for _, c := range t.All() {
		if c.Handler != nil {
			c.markdown(&b)
		}
		for i := range c.Subs {
			if c.Subs[i].Name != "help" || c.Subs[i].Deviation != "" {
				c.Subs[i].markdown(&b)
			}
		}
	}
	return b.String()
}

func (c *Command) markdown(b *strings.Builder) {
	name := strings.ToUpper(strings.ReplaceAll(c.FullName(), "|", " "))
	cells := []string{name, "", c.Since, strings.ReplaceAll(c.Deviation, "|", `\|`)}
	if c.Syntax != "" {
		// A bar would end the cell, even inside code.
		cells[1] = "`" + strings.ReplaceAll(c.Syntax, "|", `\|`) + "`"
	}
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
