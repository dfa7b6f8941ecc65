package accounts_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/accounts"
	"github.com/zlimit/zlimit/scenario"
)

// An office has accounts, and is the session that manages them.
type office struct {
	accounts.Accounts
	cfg   *config.Config
	table *commands.Table
	log   bytes.Buffer
	cut   []*acl.User // whose sessions were ended
	chief *acl.User   // the default user at the last look
}

func (o *office) User() *acl.User { return o.Owner }

func (o *office) CutUsers(deleted []*acl.User) { o.cut = append(o.cut, deleted...) }

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

// names returns the names of users, in order.
func names(users []*acl.User) string {
	var out []string
	for _, u := range users {
		out = append(out, u.Name())
	}
	slices.Sort(out)
	return cmp.Or(strings.Join(out, " "), "nobody")
}

// answer runs a line: a call of ACL, or a word about the office.
func (o *office) answer(args [][]byte) string {
	name := string(append(args, nil)[1])
	switch string(args[0]) {
	case "ACL":
		cmd := o.table.Lookup(args[0]).Sub(args[1])
		reply := cmd.Handler(&commands.Ctx{Args: args, Cmd: cmd})
		return reply.Str()
	case "load": // the users, as at the start
		if errs := o.Load(); len(errs) > 0 {
			return fmt.Sprintf("%d errors: %v", len(errs), errors.Join(errs...))
		}
	case "set":
		if err := o.cfg.Set(args[1:]); err != nil {
			return "!" + err.Error()
		}
	case "rules":
		if u := o.Find(name); u != nil {
			return u.Line()
		}
		return "nobody"
	case "restricted": // the default user is
		return strconv.FormatBool(o.Default().Restriction() != nil)
	case "same": // the default user is as at the last look
		before := o.chief
		o.chief = o.Default()
		return strconv.FormatBool(before == o.chief)
	case "owner":
		return o.Owner.Rules().String()
	case "login":
		return strconv.FormatBool(o.Login(name, string(args[2]), nil))
	case "lines": // that the configuration file has of users
		return strconv.Itoa(len(o.ConfigLines()))
	case "log":
		return o.log.String()
	case "disabled": // how many users the log says to be
		return strconv.Itoa(strings.Count(o.log.String(), "is disabled"))
	case "users":
		return o.String()
	case "cut": // whose sessions were ended
		return names(o.cut)
	case "restore": // the users who go
		return names(o.Restore())
	default:
		return "!unknown word"
	}
	return "OK"
}

const unchanged = "WARNING: ACL errors detected, no change to the previously active ACL rules was performed"

func TestCases(t *testing.T) {
	scenario.Play(t, "testdata/*.cases", func(t *testing.T, _ scenario.Section) *scenario.Runner {
		dir := t.TempDir()
		path := filepath.Join(dir, "users.acl")
		var o *office
		c := scenario.AnsweringText(func(args [][]byte) string {
			switch text := append(args, nil)[1]; string(args[0]) {
			case "open": // with a configuration file; load reads the users
				o = newOffice(t, string(text))
			case "write": // the ACL file
				require.NoError(t, os.WriteFile(path, text, 0o600))
			case "truncate":
				size, err := strconv.ParseInt(string(text), 10, 64)
				require.NoError(t, errors.Join(err, os.Truncate(path, size)))
			case "remove":
				require.NoError(t, os.Remove(path))
			default:
				return o.answer(args)
			}
			return "OK"
		})
		return &scenario.Runner{
			Dial: func(string) (scenario.Client, error) { return c, nil },
			Vars: map[string]string{"DIR": dir, "UNCHANGED": unchanged},
		}
	})
}
