package accounts

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

const (
	aclFlags = commands.NoScript | commands.Loading | commands.Stale
	aclAdmin = aclFlags | commands.Admin
)

// Commands returns the row of ACL. Init may be called later.
func (a *Accounts) Commands() []commands.Command {
	row := func(name string, arity int, flags commands.Flags, complexity, syntax, summary string,
		handler commands.Handler,
	) commands.Command {
		return commands.Command{
			Name: name, Arity: arity, Flags: flags, Group: "server", Since: "6.0.0",
			Complexity: complexity, Syntax: syntax, Summary: summary, Handler: handler,
		}
	}
	dryRun := row("dryrun", -4, aclAdmin, "O(1)", "username command [arg [arg ...]]",
		"Returns whether a user may make a call, without making it.", a.dryRun)
	dryRun.Since = "7.0.0"
	setUser := row("setuser", -3, aclAdmin, "O(N)", "username [rule [rule ...]]",
		"Creates a user or changes his rules.", a.setUser)
	setUser.Deviation = "refuses a first argument with white space, which ACL LOAD could not read; where " +
		"it must be, a word of a selector is quoted in ACL LIST and in files, and beside ~* no other " +
		"pattern is written"
	return []commands.Command{{
		Name: "acl", Arity: -2, Group: "server", Since: "6.0.0", Complexity: "Depends on subcommand.",
		Summary: "Manages users and what they may do.",
		Subs: []commands.Command{
			row("cat", -2, aclFlags, "O(1)", "[categoryname]",
				"Lists the ACL categories, or the commands of one.", a.cat),
			row("deluser", -3, aclAdmin, "O(1)", "username [username ...]",
				"Deletes users and disconnects them.", a.delUser),
			dryRun,
			row("genpass", -2, aclFlags, "O(1)", "[bits]",
				"Returns a random password.", genPass),
			row("getuser", 3, aclAdmin, "O(N)", "username",
				"Returns the rules of a user.", a.getUser),
			commands.Help("server", "6.0.0"),
			row("list", 2, aclAdmin, "O(N)", "",
				"Lists the users and their rules.", a.list),
			row("load", 2, aclAdmin, "O(N)", "",
				"Replaces the users by those of the ACL file.", a.load),
			row("log", -2, aclAdmin, "O(N)", "[count | RESET]",
				"Lists the latest refused calls and failed logins.", a.log),
			row("save", 2, aclAdmin, "O(N)", "",
				"Writes the users to the ACL file.", a.save),
			setUser,
			row("users", 2, aclAdmin, "O(N)", "",
				"Lists the names of the users.", a.names),
			row("whoami", 2, aclFlags, "O(1)", "",
				"Returns the name of the connection's user.", a.whoAmI),
		},
	}}
}

// ACL CAT [categoryname]
func (a *Accounts) cat(c *commands.Ctx) resp.Value {
	switch len(c.Args) {
	case 2:
		return resp.Array(resp.Bulks(commands.Categories)...)
	case 3:
		found := slices.IndexFunc(commands.Categories, func(category string) bool {
			return commands.EqualFold(c.Args[2], category)
		})
		if found < 0 {
			return resp.Error("ERR Unknown category '" + resp.CString(string(c.Args[2])) + "'")
		}
		return resp.Array(resp.Bulks(a.Users.Commands().InCategory(commands.Categories[found]))...)
	}
	return commands.WrongSubcommandArity(c)
}

// ACL SETUSER username [rule [rule ...]]
func (a *Accounts) setUser(c *commands.Ctx) resp.Value {
	for i := range c.Args[2:] {
		c.Redact(2 + i)
	}
	var rules []string
	for _, rule := range c.Args[3:] {
		rules = append(rules, string(rule))
	}
	a.Keep()
	err := a.Set(string(c.Args[2]), rules, a.allChannels(), a.options.Caller(c).CutSubscribers)
	var rule *acl.RuleError
	switch {
	case err == nil:
		return resp.OK
	case errors.As(err, &rule):
		return resp.Error("ERR Error in ACL SETUSER modifier '" +
			resp.OneLine(resp.CString(rule.Rule)) + "': " + rule.Err.Error())
	}
	return resp.Error("ERR " + resp.OneLine(err.Error()))
}

// ACL DELUSER username [username ...]
func (a *Accounts) delUser(c *commands.Ctx) resp.Value {
	a.Keep()
	deleted := int64(0)
	for _, name := range c.Args[2:] {
		if string(name) == acl.DefaultName {
			return resp.Error("ERR The 'default' user cannot be removed")
		}
		if u := a.Delete(string(name)); u != nil {
			deleted++
			a.options.Caller(c).CutUsers([]*acl.User{u})
		}
	}
	return resp.Int(deleted)
}

// ACL GETUSER username
func (a *Accounts) getUser(c *commands.Ctx) resp.Value {
	u := a.Find(string(c.Args[2]))
	if u == nil {
		return resp.Null
	}
	rules := u.Rules()
	selectors := rules.Selectors()
	var others []resp.Value
	for _, s := range selectors[1:] {
		others = append(others, resp.Map(selectorFields(s)...))
	}
	fields := []resp.Value{
		resp.Bulk("flags"), resp.Set(resp.Bulks(rules.Flags())...),
		resp.Bulk("passwords"), resp.Array(resp.Bulks(rules.Passwords())...),
	}
	fields = append(fields, selectorFields(selectors[0])...)
	return resp.Map(append(fields, resp.Bulk("selectors"), resp.Array(others...))...)
}

func selectorFields(s acl.Selector) []resp.Value {
	return []resp.Value{
		resp.Bulk("commands"), resp.Bulk(s.Commands),
		resp.Bulk("keys"), resp.Bulk(s.Keys),
		resp.Bulk("channels"), resp.Bulk(s.Channels),
	}
}

// ACL LIST
func (a *Accounts) list(*commands.Ctx) resp.Value {
	var lines []string
	for _, u := range a.All() {
		lines = append(lines, u.Line())
	}
	return resp.Array(resp.Bulks(lines)...)
}

// ACL USERS
func (a *Accounts) names(*commands.Ctx) resp.Value {
	var names []string
	for _, u := range a.All() {
		names = append(names, u.Name())
	}
	return resp.Array(resp.Bulks(names)...)
}

// ACL WHOAMI
func (a *Accounts) whoAmI(c *commands.Ctx) resp.Value {
	return resp.Bulk(a.options.Caller(c).User().Name())
}

// maxPasswordBits is the longest password of ACL GENPASS.
const maxPasswordBits = 4096

// ACL GENPASS [bits]
func genPass(c *commands.Ctx) resp.Value {
	bits := int64(256)
	if len(c.Args) > 3 {
		return commands.WrongSubcommandArity(c)
	}
	if len(c.Args) == 3 {
		n, ok := store.ParseInt(c.Args[2])
		if !ok {
			return commands.ErrNotInteger
		}
		if n <= 0 || n > maxPasswordBits {
			return resp.Error("ERR ACL GENPASS argument must be the number of bits for the output " +
				"password, a positive number up to " + strconv.Itoa(maxPasswordBits))
		}
		bits = n
	}
	digits := (bits + 3) / 4
	raw := make([]byte, (digits+1)/2)
	_, _ = rand.Read(raw) // it cannot fail
	return resp.Bulk(hex.EncodeToString(raw)[:digits])
}

// ACL LOG [count | RESET]
func (a *Accounts) log(c *commands.Ctx) resp.Value {
	count := int64(10)
	switch {
	case len(c.Args) > 3:
		return commands.WrongSubcommandArity(c)
	case len(c.Args) == 3 && commands.EqualFold(c.Args[2], "reset"):
		a.Log.Reset()
		return resp.OK
	case len(c.Args) == 3:
		n, ok := store.ParseInt(c.Args[2])
		if !ok {
			return commands.ErrNotInteger
		}
		count = n
	}
	var out []resp.Value
	for _, entry := range a.Log.Newest(count) {
		out = append(out, resp.Map(
			resp.Bulk("count"), resp.Int(entry.Count),
			resp.Bulk("reason"), resp.Bulk(entry.Reason.String()),
			resp.Bulk("context"), resp.Bulk(entry.Context),
			resp.Bulk("object"), resp.Bulk(entry.Object),
			resp.Bulk("username"), resp.Bulk(entry.Username),
			resp.Bulk("age-seconds"), resp.Double(float64(c.NowMs-entry.AtMs)/1000),
			resp.Bulk("client-info"), resp.Bulk(entry.Client),
		))
	}
	return resp.Array(out...)
}

// ACL DRYRUN username command [arg ...]
func (a *Accounts) dryRun(c *commands.Ctx) resp.Value {
	u := a.Find(string(c.Args[2]))
	if u == nil {
		return resp.Error("ERR User '" + resp.CString(string(c.Args[2])) + "' not found")
	}
	call := c.Args[3:]
	cmd := a.options.Table.Lookup(call[0])
	if cmd != nil && cmd.Subs != nil && len(call) > 1 {
		cmd = cmd.Sub(call[1])
	}
	if cmd == nil {
		return resp.Error("ERR Command '" + resp.CString(string(call[0])) + "' not found")
	}
	if !cmd.ArityOK(len(call)) {
		return commands.WrongArity(cmd)
	}
	switch d := u.Rules().Check(cmd, c.Standing(cmd, call)); d.Reason {
	case acl.DeniedCommand:
		return resp.Bulk("This user has no permissions to run the '" + d.Object + "' command")
	case acl.DeniedKey:
		return resp.Bulk("This user has no permissions to access the '" + resp.CString(d.Object) + "' key")
	case acl.DeniedChannel:
		return resp.Bulk("This user has no permissions to access the '" +
			resp.CString(d.Object) + "' channel")
	}
	return resp.OK
}
