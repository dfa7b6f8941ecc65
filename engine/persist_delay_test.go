package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// TestDelays counts how often saving and loading ten keys wait, and for how many
// microseconds.
func TestDelays(t *testing.T) {
	for _, tc := range []struct {
		directive string
		waits     []int64
	}{
		{"0", nil},
		{"3", slices.Repeat([]int64{3}, 10)},
		{"-1", slices.Repeat([]int64{1}, 10)},
		{"-4", []int64{1, 1}},
		{"-2147483648", nil},
	} {
		for form, directives := range map[string][]string{
			"snapshot":     {"--save", "3600 1"},
			"log":          always,
			"log, in text": append([]string{"--aof-use-rdb-preamble", "no"}, always...),
		} {
			t.Run(tc.directive+" "+form, func(t *testing.T) {
				directives := append([]string{
					"--rdb-key-save-delay", tc.directive, "--key-load-delay", tc.directive,
				}, directives...)
				d := crashdisk.New(1)
				p := start(t, d.FS(), directives...)
				c := p.client(t)
				for key := range strings.SplitSeq("0123456789", "") {
					require.Equal(t, "OK", c.do("SET "+key+" v"))
				}
				if form != "snapshot" {
					c.do("BGREWRITEAOF")
					c.awaitInfo("aof_rewrite_in_progress:0")
				}
				require.NoError(t, p.Close())
				require.Equal(t, tc.waits, p.waits, "saved")

				p = start(t, d.FS(), directives...)
				loads := tc.waits
				if form == "log, in text" && len(loads) == 10 {
					loads = slices.Concat(loads, loads[:1]) // SELECT is a command, too
				}
				require.Equal(t, loads, p.waits, "loaded")
				require.NoError(t, p.Close())
			})
		}
	}
}
