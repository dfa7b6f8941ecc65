package luaprograms

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua/luatest"
)

// TestFormats compares string.format with lua5.1's, with flags, widths and precisions in every combination.
func TestFormats(t *testing.T) {
	r, err := FindReference()
	if err != nil {
		t.Skip(err)
	}
	defer r.Close()
	values := strings.Fields("0 1 -1 7 255 -255 1e10 1e15 0.5 -0.5 1.5 9.995 1e300 1e-10 100000 1e6 1/0 " +
		"-1/0 0/0 0*-1 2^53 2^63 2^64 -2^63 'abc' '10' 65")
	widths := []string{"", "1", "5", "12", "99"}
	precisions := []string{"", "", ".", ".0", ".1", ".3", ".20"}
	rng := rand.New(rand.NewSource(1))
	for _, conversion := range "diuoxXeEfgGcsq" {
		var source strings.Builder
		source.WriteString("local r = {} " +
			"local function f(...) r[#r + 1] = select(2, pcall(string.format, ...)) end ")
		for range 400 {
			flags := ""
			for range rng.Intn(4) {
				flags += string("-+ #0"[rng.Intn(5)])
			}
			fmt.Fprintf(&source, "f('%%%s%s%s%c', %s)\n", flags, widths[rng.Intn(len(widths))],
				precisions[rng.Intn(len(precisions))], conversion, values[rng.Intn(len(values))])
		}
		source.WriteString("return table.concat(r, '\\n')")
		want, err := r.Run(source.String())
		require.NoError(t, err)
		require.Equal(t, want, luatest.Run(source.String()))
	}
}
