package upstream

import (
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/upstream/call"
)

// placeNames describe the places on the page about gateways.
var placeNames = []struct {
	place call.Place
	text  string
}{
	{call.Slot, "Forwarded to the node of its keys; calls in a row share a round trip"},
	{call.Alone, "Forwarded to one node or to all masters"},
	{call.Waits, "Forwarded on a connection of its own"},
	{call.Transaction, "By the server and the upstream together"},
	{call.Subscribes, "By the server, which has one subscription upstream for all its subscribers"},
	{call.Here, "By the server itself"},
	{call.Refused, "Refused"},
}

// Markdown returns a table of where the commands of a server with an upstream run.
func Markdown(t *commands.Table) string {
	byPlace := make(map[call.Place][]string)
	for _, cmd := range t.All() {
		if len(cmd.Subs) == 0 || cmd.LooseSubs {
			byPlace[PlaceOf(cmd)] = append(byPlace[PlaceOf(cmd)], "`"+strings.ToUpper(cmd.Name)+"`")
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
func subcommandsByPlace(cmd *commands.Command) map[call.Place][]string {
	out := make(map[call.Place][]string)
	for i := range cmd.Subs {
		place := PlaceOf(&cmd.Subs[i])
		out[place] = append(out[place], strings.ToUpper(cmd.Subs[i].Name))
	}
	return out
}
