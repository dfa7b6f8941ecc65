package acl_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/introspection"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/words"
)

func newUsers() *acl.Users { return acl.NewUsers(acl.NewCommands(newTable())) }

func newTable() (table *commands.Table) {
	return commands.NewTable(commands.Strings, commands.Keys, commands.SortedSets, rl.Commands,
		introspection.Commands(func() *commands.Table { return table }))
}

func set(us *acl.Users, name, rules string) error {
	return us.Set(name, strings.Fields(rules), false, nil)
}

// TestOwnCommands checks rules about the commands that only zlimit has. Those of Redis are
// compared with redis-server, in server/testdata/transcripts and by difftest.
func TestOwnCommands(t *testing.T) {
	us := newUsers()
	for _, c := range []struct{ rules, shown string }{
		{"+@ratelimit", "-@all +@ratelimit"},
		{"+rl.allow", "-@all +rl.allow"},
		{"+RL.Allow +@string", "-@all +@string +rl.allow"},
		{"+@ratelimit -rl.reset", "-@all +@ratelimit -rl.reset"},
		{"+@all -@ratelimit", "+@all -@ratelimit"},
		{"+@all -rl.allow", "+@all -rl.allow"},
		{"+@write", "-@all +@write"},
		{"+@fast -@ratelimit", "-@all +@fast -cl.throttle -rl.acquire -rl.allow -rl.cancel -rl.check " +
			"-rl.explain -rl.info -rl.mallow -rl.mcancel -rl.mreserve -rl.msettle -rl.refund -rl.release " +
			"-rl.renew -rl.reserve -rl.reset -rl.settle -rl.throttle"},
	} {
		require.NoError(t, set(us, "u", "reset "+c.rules))
		require.Equal(t, c.shown, us.Find("u").Rules().Selectors()[0].Commands, c.rules)
		// The description makes the same user, which has the same description.
		require.NoError(t, set(us, "v", "reset "+us.Find("u").Rules().String()))
		require.Equal(t, us.Find("u").Rules().String(), us.Find("v").Rules().String())
	}
}

// TestChangesAreWhole checks that a list of rules with an error changes nothing, and that
// no reader sees half of a list.
func TestChangesAreWhole(t *testing.T) {
	us := newUsers()
	require.NoError(t, set(us, "u", "on >p ~a +get"))
	before := us.Find("u").Rules()
	for _, bad := range []string{"off ~b +set nosuch", "resetpass +nosuch", "reset (+get", "(+nosuch) ~b"} {
		require.Error(t, set(us, "u", bad))
		require.Same(t, before, us.Find("u").Rules(), bad)
		require.Error(t, set(us, "new", bad))
		require.Nil(t, us.Find("new"))
	}

	even, odd := "reset on nopass ~a +get", "reset on nopass ~b +set"
	require.NoError(t, set(us, "u", even))
	shown := map[string]bool{us.Find("u").Rules().String(): true}
	require.NoError(t, set(us, "u", odd))
	shown[us.Find("u").Rules().String()] = true
	var changes sync.WaitGroup
	for _, rules := range []string{even, odd} {
		changes.Go(func() {
			for range 200 {
				if err := set(us, "u", rules); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		require.Contains(t, shown, us.Find("u").Rules().String())
	}
	changes.Wait()
}

// TestDeletedUserCannotLogIn checks that no login is by a user whose deletion has ended.
func TestDeletedUserCannotLogIn(t *testing.T) {
	us := newUsers()
	for range 200 {
		require.NoError(t, set(us, "u", "on nopass"))
		var entered *acl.User
		var wg sync.WaitGroup
		deleted := false
		wg.Go(func() {
			us.Login("u", "", func(u *acl.User) {
				if u.Deleted() {
					t.Error("the user is deleted while somebody enters")
				}
				entered = u
			})
		})
		wg.Go(func() { deleted = us.Delete("u") != nil })
		wg.Wait()
		require.True(t, deleted)
		require.False(t, us.Login("u", "", func(*acl.User) { t.Error("entered") }))
		require.True(t, entered == nil || entered.Deleted())
	}
	require.Nil(t, us.Delete(acl.DefaultName))
}

// TestUnrestricted checks which users have nothing to be checked for.
func TestUnrestricted(t *testing.T) {
	us := newUsers()
	require.Nil(t, us.Default().Restriction())
	require.Nil(t, us.Owner().Restriction())
	for rules, restricted := range map[string]bool{
		"+@all ~* &*":           false,
		"(+@all allkeys &*)":    false,
		"+@all ~*":              true,
		"+@all &*":              true,
		"~* &* +@all -get":      true,
		"~* &* +@all -get +get": true, // a command of the future may not be permitted
		"~* &* %R~*":            true,
	} {
		err := set(us, "u", "reset "+rules)
		if rules == "~* &* %R~*" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, restricted, us.Find("u").Restriction() != nil, rules)
	}
}

func TestLongNamesAndPasswords(t *testing.T) {
	us := newUsers()
	long := strings.Repeat("x", 1<<20)
	require.NoError(t, us.Set(long, []string{"on", ">" + long, "~" + long, "&" + long}, false, nil))
	require.True(t, us.Login(long, long, func(*acl.User) {}))
	require.False(t, us.Login(long, long+"x", func(*acl.User) {}))
	require.False(t, us.Login(long+"x", long, func(*acl.User) {}))
	require.ErrorIs(t, us.Set("a\x00b", nil, false, nil), acl.ErrName)
	require.NoError(t, us.Set("nul", []string{"on", ">a\x00b"}, false, nil))
	require.False(t, us.Login("nul", "a", func(*acl.User) {}))
	require.True(t, us.Login("nul", "a\x00b", func(*acl.User) {}))
}

func TestFile(t *testing.T) {
	us := newUsers()
	parse := func(text string) (*acl.File, error) { return us.ParseFile("f", text, false) }
	const ending = "WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
	const unknown = "Unknown command or category name in ACL. "
	for text, want := range map[string]string{ // Redis' texts: see TestACLFilesAreRedis in package server
		"foo":                        "f:1 should start with user keyword followed by the username. ",
		"user":                       "f:1 should start with user keyword followed by the username. ",
		"# hi":                       "f:1 should start with user keyword followed by the username. ",
		"\n\nuser a on\nuser a off":  "WARNING: Duplicate user 'a' found on line 4. ",
		"user default\nuser default": "WARNING: Duplicate user 'default' found on line 2. ",
		"user a (+get":               "f:1: Unmatched parenthesis in selector definition.",
		"user a +nosuch x +@nosuch y\nuser b (+nope) #x": "" +
			"f:1: Error in applying operation '+nosuch': " + unknown +
			"f:1: Syntax error. f:1: Error in applying operation '+@nosuch': " + unknown +
			"f:2: Error in applying operation '(+nope)': " + unknown +
			"f:2: The password hash must be exactly 64 characters and contain only lowercase " +
			"hexadecimal characters. ",
		"user a\tb on":     "'f:1: username 'a\tb' contains invalid characters. ",
		`user "a b" on`:    "f:1: Syntax error. ",
		"user a on\r\nx\r": "f:2 should start with user keyword followed by the username. ",
	} {
		_, err := parse(text)
		require.EqualError(t, err, want+ending, "%q", text)
	}

	require.NoError(t, set(us, "old", "on"))
	require.NoError(t, set(us, "alice", "off"))
	old := us.Find("alice")
	f, err := parse("\n  user alice on >pw ~a*  +@all \r\nuser bob (+get ~b) on\n")
	require.NoError(t, err)
	require.Len(t, us.Replace(f), 2)
	require.True(t, old.Deleted())
	require.NotSame(t, old, us.Find("alice"))
	require.Nil(t, us.Find("old"))
	require.Nil(t, us.Default().Restriction())
	text := us.String()
	require.Equal(t, 3, strings.Count(text, "\n"))

	again := newUsers()
	f, err = again.ParseFile("f", text, false)
	require.NoError(t, err)
	require.Empty(t, again.Replace(f))
	require.Equal(t, text, again.String())

	byDefault := us.Default()
	f, err = parse("user default on >x -@all")
	require.NoError(t, err)
	us.Replace(f)
	require.Same(t, byDefault, us.Default())
	require.NotNil(t, us.Default().Restriction())
}

// TestCheckAllocates checks what a call of a restricted user costs.
func TestCheckAllocates(t *testing.T) {
	us := newUsers()
	require.NoError(t, set(us, "u", "~user:* +get +zadd"))
	rules, u := us.Find("u").Restriction(), us.Default()
	get := newTable().Lookup([]byte("get"))
	args := [][]byte{[]byte("get"), []byte("user:1")}
	require.Equal(t, acl.Permitted, rules.Check(get, args).Reason)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { rules.Check(get, args) }), 1.0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if u.Restriction() != nil {
			panic("restricted")
		}
	}))
}

// writtenRules are rules, one a line, whose users were or might be written so that a start refuses them, or
// reads them as others.
var writtenRules = []string{
	"on >p ~a +get", "(+get ~a) (+set", "%RW~x %r~y", "+config|get|x", "-@all\n+@read\n-get",
	"+get| ", "+get|\t", "+get|a b", "+get|\v", "+get|a\x00b", "(+get|\"a b\")", "+get|\x85",
	"+get|\xff\n+get|\xfe", "+get|a)", "+get|(a", "+get|\"", "+get|'", "(+get|a)",
	"(~a) ~b)", "(+get|x) +set)", "(~() (~a)",
	`("~a\"b")`, `('~a"b' +get)`, `("~a\x29" ~b)`, `("&a)" &b +set|')`, `(~a\ ~b)`, `(~"a")`,
	"%RW~*\n~b", "%R~*\n%W~*\n~b\n%R~c", "%R~*\n~b", "(%RW~* ~b)", "~\n%R",
	"~a)\n~(b\n~\"\n~'\n~\\", "&a)\n&(\n&\"\n&'",
	"()", "( )", "(\")", "allkeys\nresetkeys\n~\xff", "allchannels\nclearselectors\nskip-sanitize-payload",
	"+@all\n-get\n+get", "+@all\n-@all\n+get|a", "+get\n+get|a\n-get", "+xadd|k", "nopass\n>p",
	"#" + strings.Repeat("0a", 32),
}

// FuzzSet: what a user may be called and may be given, and ACL SAVE and CONFIG REWRITE write, is read again
// as it was, with either acl-pubsub-default.
func FuzzSet(f *testing.F) {
	for _, rules := range writtenRules {
		f.Add("u", rules, false)
	}
	for _, name := range []string{
		"", "default", `a"b`, "a'b", `a\b`, "(", ")", "#", "user", "\xff", " ", "\x00", "+@all", `""`,
	} {
		f.Add(name, "on", true)
	}
	f.Fuzz(func(t *testing.T, name, rules string, allChannels bool) {
		us := newUsers()
		words := append([]string{"reset"}, strings.Split(rules, "\n")...)
		if us.Set(name, words, allChannels, nil) != nil {
			return
		}
		requireWritten(t, us.Find(name), allChannels)
		requireWritten(t, us.Find(name), !allChannels)
	})
}

// requireWritten requires that a user's lines in an ACL file and a configuration file make the same user.
func requireWritten(t *testing.T, u *acl.User, allChannels bool) {
	t.Helper()
	fromACL := newUsers()
	file, err := fromACL.ParseFile("f", u.Line()+"\n", allChannels)
	require.NoError(t, err, "%q", u.Line())
	fromACL.Replace(file)

	fromConfig := newUsers()
	line, ok := words.Split([]byte(u.ConfigLine()), nil)
	require.True(t, ok, "%q", u.ConfigLine())
	require.Equal(t, "user", string(line[0]))
	rules := []string{"reset"}
	for _, rule := range line[2:] {
		rules = append(rules, string(rule))
	}
	require.NoError(t, fromConfig.Set(string(line[1]), rules, allChannels, nil), "%q", u.ConfigLine())

	for _, us := range []*acl.Users{fromACL, fromConfig} {
		again := us.Find(u.Name())
		require.NotNil(t, again, "%q", u.Line())
		require.Equal(t, u.Line(), again.Line())
		require.Equal(t, u.Rules().Selectors(), again.Rules().Selectors())
		require.Equal(t, u.Rules().Passwords(), again.Rules().Passwords())
	}
}

// TestFirstArguments: a first argument is compared by bytes, in upper or lower case, and has no white space.
func TestFirstArguments(t *testing.T) {
	us := newUsers()
	for _, rule := range []string{"+get| ", "+get|a b", "+get|a\n", "+get|\v", "+get|a\x00"} {
		require.EqualError(t, us.Set("u", []string{rule}, false, nil), "'"+rule+"': Syntax error", "%q", rule)
	}
	require.NoError(t, us.Set("u", []string{"allkeys", "+get|a\xff"}, false, nil))
	get := newTable().Lookup([]byte("get"))
	for arg, reason := range map[string]acl.Reason{
		"a\xff": acl.Permitted, "A\xff": acl.Permitted,
		"a\xfe": acl.DeniedCommand, "a\uFFFD": acl.DeniedCommand, "a": acl.DeniedCommand,
	} {
		call := [][]byte{[]byte("get"), []byte(arg)}
		require.Equal(t, reason, us.Find("u").Rules().Check(get, call).Reason, "%q", arg)
	}
}
