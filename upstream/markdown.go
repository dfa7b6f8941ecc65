package upstream

import (
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/commands"
)

// placeNames describe the places on the page about gateways.
var placeNames = []struct {
	place commands.Place
	text  string
}{
	{commands.PlaceSlot, "Forwarded to the node of its keys; calls in a row share a round trip"},
	{commands.PlaceAlone, "Forwarded to one node or to all masters"},
	{commands.PlaceWaits, "Forwarded on a connection of its own"},
	{commands.PlaceTransaction, "By the server and the upstream together"},
	{commands.PlaceSubscribes, "By the server, which has one subscription upstream for all its subscribers"},
	{commands.PlaceEither, "By the server itself, as one node of a cluster if the upstream is one"},
	{commands.PlaceHere, "By the server itself"},
	{commands.PlaceRefused, "Refused"},
}

// Markdown returns a table of where the commands of a server with an upstream run.
func Markdown(t *commands.Table) string {
	byPlace := make(map[commands.Place][]string)
	for _, cmd := range t.All() {
		if len(cmd.Subs) == 0 || cmd.LooseSubs {
			byPlace[cmd.Place] = append(byPlace[cmd.Place], "`"+strings.ToUpper(cmd.Name)+"`")
			continue
		}
		for place, names := range subcommandsByPlace(cmd) {
			text := strings.ToUpper(cmd.Name)
			if len(names) < len(cmd.Subs) {
				text += " " + strings.Join(names, " \\| ")
			}
			byPlace[place] = append(byPlace[place], "`"+text+"`")
		}
	}
	var b strings.Builder
	b.WriteString("| Where | Commands |\n|---|---|\n")
	for _, p := range placeNames {
		fmt.Fprintf(&b, "| %s | %s |\n", p.text, strings.Join(byPlace[p.place], ", "))
	}
	return b.String()
}

// subcommandsByPlace returns the names of a command's subcommands.
func subcommandsByPlace(cmd *commands.Command) map[commands.Place][]string {
	out := make(map[commands.Place][]string)
	for i := range cmd.Subs {
		place := cmd.Subs[i].Place
		out[place] = append(out[place], strings.ToUpper(cmd.Subs[i].Name))
	}
	return out
}
