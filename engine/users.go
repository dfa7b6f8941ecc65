package engine

import (
	"fmt"
	"slices"

	"github.com/zlimit/zlimit/acl"
)

// followUsers makes the default user's password follow requirepass.
func (e *Engine) followUsers() {
	if e.cfg.String("requirepass") != "" {
		e.setPassword()
	}
	e.cfg.OnChange("requirepass", e.setPassword)
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
	lines := e.cfg.Users()
	if e.cfg.String("aclfile") != "" {
		if len(lines) > 0 {
			return errUsersTwice
		}
		if _, err := e.loadACLFile(); err != nil {
			return fmt.Errorf("starting is aborted because of ACL errors: %w", err)
		}
		return nil
	}
	seen := make(map[string]bool)
	for _, line := range lines {
		name, rules := line.Words[0], line.Words[1:]
		if seen[name] {
			return line.Error(fmt.Sprintf("Error in user declaration '%s': Duplicate user found. A user can "+
				"only be defined once in config files", name))
		}
		seen[name] = true
		if name == acl.DefaultName {
			rules = append([]string{"reset"}, rules...)
		}
		if err := e.users.Set(name, rules, e.allChannels(), nil); err != nil {
			return line.Error("Error in user declaration: " + err.Error())
		}
		if slices.Contains(e.users.Find(name).Rules().Flags(), "off") {
			e.log.Info(fmt.Sprintf("The user '%s' is disabled (there is no 'on' modifier in the user "+
				"description). Make sure this is not a configuration error.", name))
		}
	}
	return nil
}

// cutUsers ends the sessions of users that were deleted: the session's own after its
// reply.
func (s *Session) cutUsers(deleted []*acl.User) {
	if len(deleted) > 0 {
		s.kill(func(o *Session) bool { return slices.Contains(deleted, o.user.Load()) })
	}
}

// cutSubscribers ends the sessions of a user that have subscriptions which his new rules
// do not permit, if a pattern of channels was taken from him.
func (s *Session) cutSubscribers(u *acl.User, before *acl.Rules) {
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
	s.kill(func(o *Session) bool { return cut[o] && o.user.Load() == u })
}
