package engine_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

// TestRecipes runs the examples of some sections of docs/rl.md, each block on a server of its own.
func TestRecipes(t *testing.T) {
	page, err := os.ReadFile("../docs/rl.md")
	require.NoError(t, err)
	ran := 0
	for _, title := range []string{
		"Windows of the calendar", "Waiting instead of polling", "Trying a limit on live traffic", "Recipes",
	} {
		_, section, ok := strings.Cut(string(page), "\n## "+title+"\n")
		require.True(t, ok, title)
		section, _, _ = strings.Cut(section, "\n## ")
		for i, block := range strings.Split(section, "```\n") {
			if i%2 == 0 {
				continue
			}
			_, _, s := newServer(t, "--enable-debug-command", "yes")
			for _, example := range strings.Split("\n"+block, "\n> ")[1:] {
				line, want, _ := strings.Cut(strings.TrimSuffix(example, "\n")+"\n", "\n")
				require.Equal(t, want, shown(s.Do(wordsOf(t, line)), ""), line)
				ran++
			}
		}
	}
	require.Equal(t, 20, ran)
}

// shown formats a reply as redis-cli does.
func shown(v resp.Value, indent string) (text string) {
	switch v.Kind() {
	case resp.KindInteger:
		return fmt.Sprintf("(integer) %d\n", v.Int())
	case resp.KindArray:
		for i, e := range v.Elems() {
			head := fmt.Sprintf("%d) ", i+1)
			if i > 0 {
				text += indent
			}
			text += head + shown(e, indent+strings.Repeat(" ", len(head)))
		}
		return text
	case resp.KindBulk:
		return fmt.Sprintf("%q\n", v.Str())
	}
	return v.Str() + "\n"
}
