package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// TestRenamedCommands: what clients and scripts see, compared with redis-server
// 7.0.15 when it was written.
func TestRenamedCommands(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), 0, "--rename-command", "FLUSHALL", "Wipe", "--rename-command", "keys", "",
		"--rename-command", "config", "conf")
	c := p.client(t)
	unknown := "ERR unknown command '"
	for _, row := range [][2]string{
		{"flushall", unknown + "flushall', with args beginning with: "},
		{"KEYS *", unknown + "KEYS', with args beginning with: '*' "},
		{"WIPE", "OK"},
		{"wipe a b c", "ERR syntax error"},
		{"COMMAND INFO wipe keys", "[[flushall -1 [write] 0 0 0 [@keyspace @write @slow @dangerous] "},
		{"COMMAND LIST FILTERBY PATTERN keys", "[]"},
		{"COMMAND LIST FILTERBY PATTERN flushall", "[flushall]"},
		{"conf foo", "ERR unknown subcommand 'foo'. Try CONF HELP."},
		{"conf help", "[CONF <subcommand> [<arg> [value] [opt] ...]. Subcommands are: "},
		{"conf get", "ERR wrong number of arguments for 'config|get' command"},
		{"conf get rename-command", "[]"},
		{
			"conf set rename-command x",
			"ERR Unknown option or number of arguments for CONFIG SET - 'rename-command'",
		},
		{"INFO commandstats", "# Commandstats\r\ncmdstat_command|"},
	} {
		require.Contains(t, show(c.Do(args(row[0]))), row[1], row[0])
	}
	require.Contains(t, c.do("EVAL return(redis.call('flushall')) 0"),
		"Unknown Redis command called from script")
	require.Equal(t, "OK", c.do("EVAL return(redis.call('wipe')) 0"))
	require.Contains(t, c.do("INFO commandstats"), "cmdstat_flushall:")
}

// TestRenamedCommandsInLog checks that the log has the original names, so that it can be
// loaded under other names.
func TestRenamedCommandsInLog(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), 0, append([]string{
		"--rename-command", "set", "s", "--rename-command", "sadd", "set",
		"--rename-command", "function", "f", "--rename-command", "eval", "e",
		"--rename-command", "rl.allow", "allow",
	}, always...)...)
	c := p.client(t)
	require.Equal(t, "OK", c.do("S a 1"))
	require.Equal(t, "1", c.do("S a 2 KEEPTTL GET"))
	require.Equal(t, "2", c.do("SET t 1 2"))
	require.Equal(t, "OK", c.do("E return(redis.call('s',KEYS[1],'x')) 1 b"))
	require.Equal(t, "[1 3 2 0 60000]", c.do("ALLOW u 3 60000"))
	require.NoError(t, p.Close())

	p = start(t, d.FS(), 0, append([]string{"--rename-command", "set", "", "--rename-command", "get", "g"},
		always...)...)
	c = p.client(t)
	require.Equal(t, "2", c.do("G a"))
	require.Equal(t, "x", c.do("G b"))
	require.Equal(t, "[1 2]", c.do("SMEMBERS t"))
	require.Equal(t, "[1 3 1 0 60000]", c.do("RL.ALLOW u 3 60000"))
}

// TestWrongRenames checks that Open fails as redis-server's start does.
func TestWrongRenames(t *testing.T) {
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"--rename-command", "nosuch", "x"}, "No such command in rename-command"},
		{[]string{"--rename-command", "get", "set"}, "Target command name already exists"},
	} {
		p := prepare(t, crashdisk.New(1).FS(), 0, row.args...)
		var line *config.FileError
		require.ErrorAs(t, p.Open(), &line)
		require.Equal(t, "*** FATAL CONFIG FILE ERROR (zlimit) ***\n"+
			"Reading the configuration file, at line 2\n"+
			">>> 'rename-command \""+row.args[1]+"\" \""+row.args[2]+"\"'\n"+row.want, line.Error())
	}
}
