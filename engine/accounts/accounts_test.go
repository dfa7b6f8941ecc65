package accounts_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/accounts"
)

// An office has accounts, and is the session that manages them.
type office struct {
	accounts.Accounts
	cfg   *config.Config
	table *commands.Table
	log   bytes.Buffer
	cut   []string // the users whose sessions were ended
}

func (o *office) User() *acl.User { return o.Owner }

func (o *office) CutUsers(deleted []*acl.User) {
	for _, u := range deleted {
		o.cut = append(o.cut, u.Name())
	}
}

func (o *office) CutSubscribers(*acl.User, *acl.Rules) {}

// newOffice returns accounts with a configuration file. They are not loaded yet.
func newOffice(t *testing.T, text string) *office {
	t.Helper()
	o := &office{cfg: config.New()}
	require.NoError(t, o.cfg.ParseFile("zlimit.conf", strings.NewReader(text)))
	o.table = commands.NewTable(commands.Strings, o.Commands())
	o.Init(accounts.Options{
		Config: o.cfg.View(), Log: slog.New(slog.NewTextHandler(&o.log, nil)), Table: o.table, RunID: "id",
		Caller: func(*commands.Ctx) accounts.Caller { return o },
	})
	return o
}

// do calls a subcommand of ACL and returns its reply, or the text of an error.
func (o *office) do(line string) string {
	var args [][]byte
	for _, word := range strings.Fields("acl " + line) {
		args = append(args, []byte(word))
	}
	cmd := o.table.Lookup(args[0]).Sub(args[1])
	reply := cmd.Handler(&commands.Ctx{Args: args, Cmd: cmd})
	if reply.Elems() != nil {
		return fmt.Sprint(reply.Elems())
	}
	return reply.Str()
}

// line returns the rules of a user, "" if there is none.
func (o *office) line(name string) string {
	if u := o.Find(name); u != nil {
		return u.Line()
	}
	return ""
}

const (
	anyone = "user default on nopass ~* &* +@all"
	hashP  = "#148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940" // of p
	ending = "WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
)

// TestDefaultUser: he needs the password of requirepass, the latest one alone, and keeps his other rules.
func TestDefaultUser(t *testing.T) {
	o := newOffice(t, "")
	require.Equal(t, anyone, o.line("default"))
	require.Nil(t, o.Default().Restriction())
	set := func(password string) {
		require.NoError(t, o.cfg.Set([][]byte{[]byte("requirepass"), []byte(password)}))
	}
	withP := strings.Replace(anyone, "nopass", hashP, 1)
	set("other")
	set("p")
	require.Equal(t, withP, o.line("default"))
	require.False(t, o.Login("default", "other", nil))
	require.Equal(t, withP, newOffice(t, "requirepass p\n").line("default"), "from the start")
	set("")
	require.Equal(t, anyone, o.line("default"))
	require.Equal(t, "ERR The 'default' user cannot be removed", o.do("DELUSER default"))

	byDefault := o.Default()
	require.Equal(t, "OK", o.do("SETUSER default -@all"))
	set("p")
	require.Equal(t, "user default on "+hashP+" ~* &* -@all", o.line("default"),
		"a password is all that changes")
	require.Same(t, byDefault, o.Default())
	require.Contains(t, o.Owner.Rules().String(), "+@all", "the program's own user is another one")

	o = newOffice(t, "requirepass p\nuser default on +get\n")
	require.Empty(t, o.Load())
	require.Equal(t, "user default on sanitize-payload resetchannels -@all +get", o.line("default"),
		"a line begins anew")
}

// TestLinesOfConfiguration: each wrong line has an error with its number, and the others hold.
func TestLinesOfConfiguration(t *testing.T) {
	o := newOffice(t, "port 0\nuser a on +get\nuser a off\nuser b nosuch\n\n"+
		"user c (+get\nuser d +nosuch\nuser e\n")
	errs := o.Load()
	require.Len(t, errs, 4)
	for i, want := range []string{
		"line 3\n>>> 'user a off'\nError in user declaration 'a': Duplicate user found.",
		"line 4\n>>> 'user b nosuch'\nError in user declaration: ",
		"line 6\n>>> 'user c (+get'\nError in user declaration: Unmatched parenthesis",
		"line 7\n>>> 'user d +nosuch'\nError in user declaration: ",
	} {
		require.ErrorContains(t, errs[i], want)
	}
	require.Equal(t, "user a on resetchannels -@all +get", o.line("a"), "the first one")
	require.Equal(t, 1, strings.Count(o.log.String(), "is disabled"))
	require.Contains(t, o.log.String(), "The user 'e' is disabled")
	require.Len(t, o.ConfigLines(), 3, "a, e and default")

	o = newOffice(t, "acl-pubsub-default allchannels\nuser a on\n")
	require.Empty(t, o.Load())
	require.Contains(t, o.line("a"), "&*")

	o = newOffice(t, "user a on\naclfile x.acl\n")
	errs = o.Load()
	require.Len(t, errs, 1)
	require.ErrorContains(t, errs[0], "please define either an ACL file or declare users directly")
	require.Empty(t, o.line("a"))
}

// TestFileIsTakenAsAWhole: a file with an error changes nothing, whichever line has it and whatever the
// others say.
func TestFileIsTakenAsAWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.acl")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("user alice on nopass +@all\nuser old on\n")
	o := newOffice(t, "aclfile "+path+"\n")
	require.Empty(t, o.Load())
	require.Empty(t, o.ConfigLines(), "they are in the file")
	before := o.String()
	for text, want := range map[string]string{
		"user alice off\nuser bob nosuch":     path + ":2: Syntax error. ",
		"user alice nosuch\nuser bob on":      path + ":1: Syntax error. ",
		"\n\nuser alice on\nuser alice off\n": "WARNING: Duplicate user 'alice' found on line 4. ",
		"user alice off\n# a comment": path + ":2 should start with user keyword followed by the " +
			"username. ",
		"user alice off (+get": path + ":1: Unmatched parenthesis in selector definition.",
		"user alice off +nosuch\nuser b x": path + ":1: Error in applying operation '+nosuch': Unknown " +
			"command or category name in ACL. " + path + ":2: Syntax error. ",
	} {
		write(text)
		require.Equal(t, "ERR "+want+ending, o.do("LOAD"), "%q", text)
		require.Equal(t, before, o.String(), "%q", text)
		errs := newOffice(t, "aclfile "+path+"\n").Load()
		require.Len(t, errs, 1)
		require.EqualError(t, errs[0], "starting is aborted because of ACL errors: "+want+ending)
	}
	require.NoError(t, os.Truncate(path, 64<<20+1))
	require.Contains(t, o.do("LOAD"), "It is longer than 67108864 bytes")
	require.NoError(t, os.Remove(path))
	require.Equal(t, "ERR Error loading ACLs, opening file '"+path+"': No such file or directory",
		o.do("LOAD"))
	require.Equal(t, before, o.String())
	require.Empty(t, o.cut)

	write("user alice on nopass +get\n")
	require.Equal(t, "OK", o.do("LOAD"))
	require.ElementsMatch(t, []string{"alice", "old"}, o.cut, "those who went or changed lose their sessions")
	require.Empty(t, o.line("old"))
	require.Contains(t, o.line("alice"), "-@all +get")
	require.Equal(t, anyone, o.line("default"), "a file need not name him")

	require.Equal(t, "OK", o.do("SETUSER carol on >p ~a* (+set %R~b)"))
	require.Equal(t, "OK", o.do("SAVE"))
	again := newOffice(t, "aclfile "+path+"\n")
	require.Empty(t, again.Load())
	require.Equal(t, o.String(), again.String())
}

// TestRulesAreTakenAsAWhole: a call of ACL SETUSER with a wrong rule changes and makes nobody.
func TestRulesAreTakenAsAWhole(t *testing.T) {
	o := newOffice(t, "")
	require.Equal(t, "ERR Error in ACL SETUSER modifier 'nosuch': Syntax error", o.do("SETUSER a on nosuch"))
	require.Empty(t, o.line("a"))
	require.Equal(t, "OK", o.do("SETUSER a on +get"))
	before := o.line("a")
	require.Contains(t, o.do("SETUSER a off +set -nosuch"), "modifier '-nosuch'")
	require.Contains(t, o.do("SETUSER a off (+get"), "Unmatched parenthesis")
	require.Equal(t, before, o.line("a"))
	for _, command := range []string{"LOAD", "SAVE"} {
		require.Contains(t, o.do(command), "not configured to use an ACL file")
	}
}

// TestReturnToTheFirstUsers: DEBUG RESET finds the users as they were before the first change.
func TestReturnToTheFirstUsers(t *testing.T) {
	o := newOffice(t, "user a on\n")
	require.Empty(t, o.Load())
	first := o.String()
	require.Empty(t, o.Restore(), "nothing was kept")
	o.do("SETUSER b on")
	o.do("DELUSER a nobody")
	require.Equal(t, []string{"a"}, o.cut)
	o.do("SETUSER default -@all")
	deleted := o.Restore()
	require.Equal(t, first, o.String())
	require.Len(t, deleted, 1)
	require.Equal(t, "b", deleted[0].Name())
	require.Empty(t, o.Restore(), "they are the same")
}
