package upstream

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// A redis-server that does not let FUNCTION, or FCALL either, be called decides by scripts. One that lets no
// script be called says so.
func TestRefusedFunctions(t *testing.T) {
	if err := oracle.FindRealTime(); err != nil {
		t.Skip("there is no redis-server on this machine: ", err)
	}
	user := func(rules ...string) []string {
		return append([]string{"--user", "default", "on", "nopass", "~*", "&*", "+@all"}, rules...)
	}
	const noScript = "the library of functions cannot be loaded: " +
		"NOPERM this user has no permissions to run the 'function|load' command; and no script instead: " +
		"NOPERM this user has no permissions to run the 'script|load' command"
	for _, row := range []struct {
		name    string
		args    []string
		refusal string // "": it decides
	}{
		{"FUNCTION is renamed", []string{"--rename-command", "FUNCTION", ""}, ""},
		{
			"FUNCTION and FCALL are renamed",
			[]string{"--rename-command", "FUNCTION", "", "--rename-command", "FCALL", ""},
			"",
		},
		{"no permission for FUNCTION", user("-function"), ""},
		{"no permission for FUNCTION LOAD", user("-function|load"), ""},
		{"no permission for FCALL", user("-fcall", "-fcall_ro"), ""},
		{"no permission for either", user("-function", "-fcall", "-fcall_ro"), ""},
		{"no permission for scripts", user("-@scripting"), noScript},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r, err := oracle.Start(oracle.Options{RealTime: true, Args: row.args})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, r.Close()) })
			u := open(t, "redis://"+r.Addr(), nil)
			for i, want := range []string{":1\r\n:2\r\n:1\r\n", ":1\r\n:2\r\n:0\r\n", ":0\r\n:2\r\n:0\r\n"} {
				for _, reply := range u.do("RL.ALLOW k 2 1h", "RL.ALLOW f 2 1h ALGO FIXED") {
					if row.refusal != "" {
						require.Equal(t, "-UPSTREAM "+r.Addr()+": "+row.refusal+"\r\n", reply)
						continue
					}
					require.Contains(t, reply, "*5\r\n"+want, i)
				}
			}
			require.Equal(t, row.refusal == "", u.status("failed") == "0")
			require.Contains(t, u.status("node0"), "decides_by=scripts")
		})
	}
}
