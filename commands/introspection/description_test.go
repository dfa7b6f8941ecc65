package introspection

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// Replies about all commands are made once, and all clients with the same protocol share the bytes. Scripts
// and programs get values, which say the same.
func TestDescriptionsAreMadeOnce(t *testing.T) {
	for _, call := range []string{"COMMAND", "COMMAND INFO", "COMMAND DOCS"} {
		t.Run(call, func(t *testing.T) {
			table := testTable()
			var words [][]byte
			for word := range strings.FieldsSeq(call) {
				words = append(words, []byte(word))
			}
			var texts []string
			for _, proto := range []int{resp.RESP2, resp.RESP3, resp.RESP2} {
				values := table.Call(&commands.Ctx{Proto: proto}, words)
				require.NotEmpty(t, values.Elems())
				encoded := table.Call(&commands.Ctx{Proto: proto, Out: commands.Output{Encodes: true}}, words)
				require.True(t, string(resp.Append(nil, &values, proto)) == encoded.Str(), "RESP%d", proto)
				texts = append(texts, encoded.Str())
				for _, toClient := range []bool{false, true} {
					c := &commands.Ctx{Proto: proto, Out: commands.Output{Encodes: toClient}}
					require.Less(t, testing.AllocsPerRun(10, func() { table.Call(c, words) }), 3.0)
				}
			}
			require.NotEqual(t, texts[0], texts[1])
			require.Same(t, unsafe.StringData(texts[0]), unsafe.StringData(texts[2]))
		})
	}
}

// A reply that was made before a command got another name, or none, is not kept.
func TestDescriptionsFollowRename(t *testing.T) {
	table := testTable()
	elems := func() (info, docs int) {
		return len(ask(table, resp.RESP2, "COMMAND").Elems()),
			len(ask(table, resp.RESP2, "COMMAND", "DOCS").Elems())
	}
	info, docs := elems()
	require.NoError(t, table.Rename("get", ""))
	infoAfter, docsAfter := elems()
	require.Equal(t, []int{info - 1, docs - 2}, []int{infoAfter, docsAfter})
}
