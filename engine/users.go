package engine

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/resp"
)

// followUsers makes the default user's password follow requirepass.
func (e *Engine) followUsers() {
	if e.cfg.String("requirepass") != "" {
		e.setPassword()
	}
	e.cfg.OnChange("requirepass", e.setPassword)
}

// keptUsers are users to return to.
type keptUsers struct {
	text string // as Users.String
	file *acl.File
}

// keepUsers keeps the users for DEBUG RESET, unless they were kept before.
func (e *Engine) keepUsers() {
	if e.initialUsers.Load() == nil {
		e.initialUsers.CompareAndSwap(nil, &keptUsers{e.users.String(), e.users.Snapshot()})
	}
}

// restoreUsers replaces the users by those that were kept, if they differ. It returns those that are deleted.
func (e *Engine) restoreUsers() (deleted []*acl.User) {
	kept := e.initialUsers.Load()
	if kept == nil || kept.text == e.users.String() {
		return nil
	}
	return e.users.Replace(kept.file)
}

// setPassword gives the default user the password of requirepass alone.
func (e *Engine) setPassword() {
	rules := []string{"nopass"}
	if password := e.cfg.String("requirepass"); password != "" {
		rules = []string{"resetpass", ">" + password}
	}
	if err := e.users.Set(acl.DefaultName, rules, e.allChannels(), nil); err != nil {
		panic(fmt.Sprintf("engine: the default user's password: %v", err)) // such rules cannot fail
	}
}

// allChannels reports whether new users may use all channels.
func (e *Engine) allChannels() bool { return e.cfg.String("acl-pubsub-default") == "allchannels" }

// LoadUsers reads the users of the configuration or of the ACL file. It is called before
// there are sessions.
func (e *Engine) LoadUsers() error {
	if errs := e.loadUsers(); len(errs) > 0 {
		return errs[0]
	}
	return nil
}

// CheckConfig returns the errors of rename-command and of the users, with which no server starts. It
// is called instead of LoadUsers and Open.
func (e *Engine) CheckConfig() []error {
	errs := e.loadUsers()
	if e.life.renameErr != nil {
		errs = append(errs, e.life.renameErr)
	}
	return errs
}

// loadUsers is LoadUsers with all errors.
func (e *Engine) loadUsers() (errs []error) {
	lines := e.cfg.Users()
	if e.cfg.String("aclfile") != "" {
		if len(lines) > 0 {
			return []error{errUsersTwice}
		}
		if _, err := e.loadACLFile(); err != nil {
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
		if err := e.users.Set(name, rules, e.allChannels(), nil); err != nil {
			errs = append(errs, line.Error("Error in user declaration: "+err.Error()))
			continue
		}
		if slices.Contains(e.users.Find(name).Rules().Flags(), "off") {
			e.options.Log.Info(fmt.Sprintf("The user '%s' is disabled (there is no 'on' modifier in the user "+
				"description). Make sure this is not a configuration error.", name))
		}
	}
	return errs
}

// cutUsers ends the sessions of users that were deleted: the session's own after its
// reply.
func (a *account) cutUsers(deleted []*acl.User) {
	s := a.session
	if len(deleted) > 0 {
		s.ending.kill(func(o *Session) bool { return slices.Contains(deleted, o.who.user.Load()) })
	}
}

// cutSubscribers ends the sessions of a user that have subscriptions which his new rules
// do not permit, if a pattern of channels was taken from him.
func (a *account) cutSubscribers(u *acl.User, before *acl.Rules) {
	s := a.session
	after := u.Rules()
	if !before.LosesChannels(after) {
		return
	}
	cut := make(map[any]bool)
	for _, owner := range s.AcquireBroker().Owners(func(topic string, pattern bool) bool {
		return !after.PermitsChannel(topic, pattern)
	}) {
		cut[owner] = true
	}
	s.ending.kill(func(o *Session) bool { return cut[o] && o.who.user.Load() == u })
}

var errNoACLFile = resp.Error("ERR This Redis instance is not configured to use an ACL file. You may want " +
	"to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a " +
	"Redis configuration file set) in order to store users in the Redis configuration.")

// errUsersTwice is the error of LoadUsers if the configuration has users and names a
// file, too.
//
//nolint:staticcheck // Redis' text
var errUsersTwice = errors.New("Configuring Redis with users defined in redis.conf and at the same " +
	"setting an ACL file path is invalid. This setup is very likely to lead to configuration errors " +
	"and security holes, please define either an ACL file or declare users directly in your redis.conf, " +
	"but not both.")

const maxACLFileBytes = 64 << 20

// loadACLFile replaces the users by those of aclfile. If the file has an error, nothing
// changes.
func (e *Engine) loadACLFile() (deleted []*acl.User, err error) {
	name := e.cfg.Text("aclfile")
	text, err := readWhole(e.cfg.String("aclfile"))
	if err != nil {
		//nolint:staticcheck // Redis' text
		return nil, fmt.Errorf("Error loading ACLs, opening file '%s': %s", name, cReason(err))
	}
	file, err := e.users.ParseFile(name, text, e.allChannels())
	if err != nil {
		return nil, err
	}
	return e.users.Replace(file), nil
}

func readWhole(path string) (text string, err error) {
	f, err := disk.OS(filepath.Dir(path)).Open(filepath.Base(path))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, maxACLFileBytes+1))
	if err == nil && len(b) > maxACLFileBytes {
		err = fmt.Errorf("it is longer than %d bytes", maxACLFileBytes)
	}
	return string(b), err
}

// cReason returns why a file operation has failed, in the form of C's strerror.
func cReason(err error) string {
	if cause := syscall.Errno(0); errors.As(err, &cause) {
		err = cause
	}
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// ACL LOAD
func (e *Engine) aclLoad(c *commands.Ctx) resp.Value {
	if e.cfg.String("aclfile") == "" {
		return errNoACLFile
	}
	e.keepUsers()
	deleted, err := e.loadACLFile()
	if err != nil {
		return resp.Error("ERR " + resp.OneLine(err.Error()))
	}
	caller(c).who.cutUsers(deleted)
	return resp.OK
}

// ACL SAVE
func (e *Engine) aclSave(*commands.Ctx) resp.Value {
	path := e.cfg.String("aclfile")
	if path == "" {
		return errNoACLFile
	}
	dir, name, text := filepath.Dir(path), filepath.Base(path), e.users.String()
	err := fmt.Errorf("it would be longer than %d bytes", maxACLFileBytes) // and could not be read again
	if len(text) <= maxACLFileBytes {
		err = disk.WriteFile(disk.OS(dir), name, name+".tmp-"+e.life.runID, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	if err != nil {
		e.options.Log.Warn("ACL SAVE failed", "error", err)
		return resp.Error("ERR There was an error trying to save the ACLs. Please check the server logs " +
			"for more information")
	}
	return resp.OK
}
