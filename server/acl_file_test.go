package server_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// aclFiles are contents of ACL files, right and wrong.
var aclFiles = []string{
	"",
	"\n\n",
	"user alice on >pw ~a* +get\n",
	"  user alice on nopass ~* &* +@all  \r\n\r\nuser bob (+get ~b) off\n",
	"user alice (+get\n",
	"user alice (+get ~a)  on",
	"user alice ((+get)\n",
	"foo\n",
	"user\n",
	"user \n",
	"# hi\nuser alice on\n",
	"USER alice on\n",
	"user alice on\nuser alice off\n",
	"user default on >x ~* +@all\n",
	"user default on\nuser default off\n",
	"user alice +nosuch nosuch +@nosuch other\nuser b on\nuser c (+nope) #x\n",
	"user alice on\r\nuser bob nosuch\r\n",
	"user a\tb on\n",
	"user  alice on\n",
	`user "a b" on`,
	"user alice on \t+get\n",
	"user alice on >\n",
	"user alice allkeys ~a\n",
	"user alice &a &*\nuser bob allchannels &a\nuser c resetchannels &\xff\n",
}

// TestACLFilesAreRedis compares ACL LOAD of right and wrong files with redis-server: the
// reply, and the users that there are then.
func TestACLFilesAreRedis(t *testing.T) {
	if err := oracle.FindRealTime(); err != nil {
		t.Skip("no redis-server installed to compare with: ", err)
	}
	file := filepath.Join(t.TempDir(), "users.acl")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("user old on nopass +@all\n")
	redis, err := oracle.Start(oracle.Options{RealTime: true, Args: []string{"--aclfile", file}})
	require.NoError(t, err)
	defer func() { require.NoError(t, redis.Close()) }()
	ours := start(t, "--bind", "127.0.0.1", "--aclfile", file)
	var wires [2]*wire
	for i, addr := range []string{redis.Addr(), ours.Addr().String()} {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
		wires[i] = newWire(c)
	}
	compare := func(words ...string) string {
		theirs := wires[0].call(t, words...)
		require.Equal(t, theirs, wires[1].call(t, words...), words)
		return theirs
	}
	compare("ACL", "LIST")
	outcomes := map[bool]int{}
	for _, text := range aclFiles {
		write(text)
		outcomes[strings.HasPrefix(compare("ACL", "LOAD"), "+OK")]++
		compare("ACL", "LIST")
		compare("ACL", "WHOAMI")
	}
	require.Greater(t, outcomes[true], 5)
	require.Greater(t, outcomes[false], 5)

	// Each reads what the other has saved.
	write("")
	compare("ACL", "LOAD")
	compare("ACL", "SETUSER", "alice", "on", ">pw", "~a*", "%R~b", "&c", "-@all", "+@read", "(+set ~x)")
	for i, w := range wires {
		require.Equal(t, "+OK", w.call(t, "ACL", "SAVE"))
		saved, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "+OK", wires[1-i].call(t, "ACL", "LOAD"))
		compare("ACL", "LIST")
		require.Contains(t, string(saved), "user alice on #")
	}
}

// TestUsersOfConfiguration checks user lines and aclfile at the start of a server.
func TestUsersOfConfiguration(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, c := range []struct{ file, want string }{
		{"user\n", ">>> 'user'\nBad directive or wrong number of arguments"},
		{"port 0\nuser a nosuch\n", "line 2\n>>> 'user a nosuch'\nError in user declaration: 'nosuch': Syn"},
		{"user a +nosuch\n", "'+nosuch': Unknown command or category name in ACL"},
		{"user a on\nuser a off\n", "at line 2\n>>> 'user a off'\nError in user declaration 'a': Duplicate"},
		{"user \"a b\" on\n", "Usernames can't contain spaces or null characters"},
		{"user a (+get\n", "Unmatched parenthesis in acl selector starting at '(+get'."},
		{"user a on\naclfile x\n", "please define either an ACL file or declare users directly"},
		{"aclfile " + dir + "/none.acl\n", dir + "/none.acl': No such file or directory"},
		{"aclfile " + dir + "\n", "Error loading ACLs, opening file '" + dir + "': "},
		{"aclfile " + write("bad.acl", "user a on\nuser b nosuch\n") + "\n", "bad.acl:2: Syntax error. W"},
	} {
		err := refused(t, write("zlimit.conf", c.file), "--bind", "127.0.0.1")
		require.ErrorContains(t, err, c.want, c.file)
	}

	full := start(t, "--bind", "127.0.0.1", "--aclfile", write("users.acl", "user alice on nopass +@all\n"))
	w := connect(t, full)
	require.Equal(t, "+OK", w.call(t, "AUTH", "alice", "x"))
	write("users.acl", "user alice on\nuser alice off\n")
	require.Contains(t, w.call(t, "ACL", "LOAD"), "Duplicate user 'alice' found on line 2")
	require.Equal(t, "$5\r\nalice", w.call(t, "ACL", "WHOAMI"))
	require.NoError(t, os.RemoveAll(dir))
	require.Contains(t, w.call(t, "ACL", "SAVE"), "-ERR There was an error trying to save the ACLs.")
	require.Contains(t, w.call(t, "ACL", "LOAD"), "-ERR Error loading ACLs, opening file")
}
