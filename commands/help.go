package commands

import (
	"strings"

	"github.com/zlimit/zlimit/resp"
)

// Help returns the row of a container's HELP, which shows each subcommand in two lines.
func Help(group, since string, categories ...string) Command {
	deviation := "the texts are zlimit's own"
	if group == "rate-limit" {
		deviation = "zlimit's own"
	}
	return Command{
		Name: "help", Arity: 2, Flags: Loading | Stale, Categories: categories,
		Group: group, Since: since, Complexity: "O(1)",
		Summary: "Lists the subcommands.",
		Handler: helpText, Deviation: deviation,
	}
}

func helpText(c *Ctx) resp.Value {
	container := c.Cmd.parent
	name := strings.ToUpper(container.Called)
	lines := []resp.Value{resp.Status(name + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")}
	for i := range container.Subs {
		sub := &container.Subs[i]
		line := strings.ToUpper(sub.Name)
		if sub.Syntax != "" {
			line += " " + sub.Syntax
		}
		lines = append(lines, resp.Status(line), resp.Status("    "+sub.Summary))
	}
	return resp.Array(lines...)
}
