// Package accounts has the users of an engine, from the configuration or the ACL file, the subcommands of
// ACL, ACL LOG, and the limit of failed logins. What users may do is decided in package acl.
//
// This package is internal to zlimit: it may change in any release.
package accounts

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/logins"
)

// Accounts are the users of an engine. Its methods may be called concurrently unless they say otherwise.
type Accounts struct {
	*acl.Users
	Owner  *acl.User // of sessions whose peer is the program that runs the engine
	Log    acl.Log
	Logins logins.Limit

	options Options
	// initial is what the users were before ACL or CONFIG SET could change them; nil: neither was called.
	initial atomic.Pointer[kept]
}

// Options configures Accounts.
type Options struct {
	Config *config.View // its owner ends it
	Log    *slog.Logger
	Table  *commands.Table
	RunID  string // a part of the names of temporary files

	// Caller returns the session that runs a command of this package.
	Caller func(*commands.Ctx) Caller
}

// A Caller is a session that runs a command of this package.
type Caller interface {
	User() *acl.User
	// CutUsers ends the sessions of users that were deleted: the session's own after its reply.
	CutUsers(deleted []*acl.User)
	// CutSubscribers ends the sessions of a user that have subscriptions which his new rules do not permit,
	// if a pattern of channels was taken from him.
	CutSubscribers(u *acl.User, before *acl.Rules)
}

// Init makes a ready for use: the default user has the password of requirepass.
func (a *Accounts) Init(o Options) {
	a.options = o
	a.Users = acl.NewUsers(acl.NewCommands(o.Table))
	a.Owner = a.Users.Owner()
	a.Logins.SetRate(o.Config.Int("failed-logins-per-second"))
	o.Config.OnChange("failed-logins-per-second", func() {
		a.Logins.SetRate(o.Config.Int("failed-logins-per-second"))
	})
	if o.Config.String("requirepass") != "" {
		a.setPassword()
	}
	o.Config.OnChange("requirepass", a.setPassword)
}

// kept is users to return to.
type kept struct {
	text string // as Users.String
	file *acl.File
}

// Keep keeps the users for DEBUG RESET, unless they were kept before.
func (a *Accounts) Keep() {
	if a.initial.Load() == nil {
		a.initial.CompareAndSwap(nil, &kept{a.String(), a.Snapshot()})
	}
}

// Restore replaces the users by those that were kept, if they differ. It returns those that are deleted.
func (a *Accounts) Restore() (deleted []*acl.User) {
	kept := a.initial.Load()
	if kept == nil || kept.text == a.String() {
		return nil
	}
	return a.Replace(kept.file)
}

// setPassword gives the default user the password of requirepass alone.
func (a *Accounts) setPassword() {
	rules := []string{"nopass"}
	if password := a.options.Config.String("requirepass"); password != "" {
		rules = []string{"resetpass", ">" + password}
	}
	if err := a.Set(acl.DefaultName, rules, a.allChannels(), nil); err != nil {
		panic(fmt.Sprintf("accounts: the default user's password: %v", err)) // such rules cannot fail
	}
}

// allChannels reports whether new users may use all channels.
func (a *Accounts) allChannels() bool {
	return a.options.Config.String("acl-pubsub-default") == "allchannels"
}

// Load reads the users of the configuration or of the ACL file, and returns all errors. It is called before
// there are sessions.
func (a *Accounts) Load() (errs []error) {
	lines := a.options.Config.Users()
	if a.options.Config.String("aclfile") != "" {
		if len(lines) > 0 {
			return []error{errTwice}
		}
		if _, err := a.loadFile(); err != nil {
			return []error{fmt.Errorf("starting is aborted because of ACL errors: %w", err)}
		}
		return nil
	}
	seen := make(map[string]bool)
	for _, line := range lines {
		name, rules := line.Words[0], line.Words[1:]
		if seen[name] {
			errs = append(errs, line.Error(fmt.Sprintf("Error in user declaration '%s': "+
				"Duplicate user found. A user can only be defined once in config files", name)))
			continue
		}
		seen[name] = true
		if name == acl.DefaultName {
			rules = append([]string{"reset"}, rules...)
		}
		if err := a.Set(name, rules, a.allChannels(), nil); err != nil {
			errs = append(errs, line.Error("Error in user declaration: "+err.Error()))
			continue
		}
		if slices.Contains(a.Find(name).Rules().Flags(), "off") {
			a.options.Log.Info(fmt.Sprintf("The user '%s' is disabled (there is no 'on' modifier in the "+
				"user description). Make sure this is not a configuration error.", name))
		}
	}
	return errs
}

// errTwice is the error of Load if the configuration has users and names a
// file, too.
//
//nolint:staticcheck // Redis' text, which begins with a capital and ends with a point
var errTwice = errors.New("Configuring Redis with users defined in redis.conf and at the same " +
	"setting an ACL file path is invalid. This setup is very likely to lead to configuration errors " +
	"and security holes, please define either an ACL file or declare users directly in your redis.conf, " +
	"but not both.")

// ConfigLines returns the lines of the configuration file that declare the users, none if they are in the ACL
// file.
func (a *Accounts) ConfigLines() (lines []string) {
	if a.options.Config.String("aclfile") != "" {
		return nil
	}
	for _, u := range a.All() {
		lines = append(lines, u.ConfigLine())
	}
	return lines
}
