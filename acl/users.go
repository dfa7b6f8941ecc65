package acl

import (
	"errors"
	"slices"
	"strings"
	"sync"
)

// Users are the users of a server. They always include the default user, which cannot be
// deleted.
type Users struct {
	commands  *Commands
	byDefault *User

	mu     sync.RWMutex
	byName map[string]*User // protected by mu

	// changing is held while users are changed, so that changes do not overtake one
	// another. It is acquired before mu.
	changing sync.Mutex
}

// NewUsers returns Users with the default user only, which may do everything and needs no
// password.
func NewUsers(cs *Commands) *Users {
	us := &Users{commands: cs, byName: make(map[string]*User)}
	us.byDefault = us.newUser(DefaultName, everything(cs))
	us.byName[DefaultName] = us.byDefault
	return us
}

func (us *Users) newUser(name string, r *Rules) *User {
	u := &User{name: name}
	u.set(r)
	return u
}

// Owner returns a user that may do everything. It is named like the default user and is
// not one of the users.
func (us *Users) Owner() *User { return us.newUser(DefaultName, everything(us.commands)) }

// Commands returns the commands that rules can name.
func (us *Users) Commands() *Commands { return us.commands }

// Default returns the default user.
func (us *Users) Default() *User { return us.byDefault }

// Find returns the user with a name, or nil.
func (us *Users) Find(name string) *User {
	us.mu.RLock()
	defer us.mu.RUnlock()
	return us.byName[name]
}

// All returns the users in the order of their names.
func (us *Users) All() []*User {
	us.mu.RLock()
	defer us.mu.RUnlock()
	all := make([]*User, 0, len(us.byName))
	for _, u := range us.byName {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b *User) int { return strings.Compare(a.name, b.name) })
	return all
}

// Login calls enter with the user called name, and reports true, if the password is
// right and the user enabled. A user is not deleted while enter runs.
func (us *Users) Login(name, password string, enter func(u *User)) bool {
	hash := Hash(password) // whether the user exists or not, so that it takes equally long
	us.mu.RLock()
	defer us.mu.RUnlock()
	u := us.byName[name]
	if u == nil || !u.Rules().accepts(hash) {
		return false
	}
	enter(u)
	return true
}

// ErrName is the error of Set if a name cannot be one.
//
//nolint:staticcheck // Redis' text
var ErrName = errors.New("Usernames can't contain spaces or null characters")

// Set applies rules to the user called name, who is created if there is none. If it
// returns an error, which is ErrName, a *RuleError or an *UnmatchedError, nothing has
// changed. Otherwise it calls changed, which may be nil, with the rules before and after;
// the user has the new ones then.
func (us *Users) Set(
	name string, words []string, allChannels bool, changed func(u *User, before *Rules),
) error {
	if hasSpace(name) {
		return ErrName
	}
	rules, err := mergeSelectors(words)
	if err != nil {
		return err
	}
	us.changing.Lock()
	defer us.changing.Unlock()
	u := us.Find(name)
	before := newRules(us.commands, allChannels)
	if u != nil {
		before = u.Rules()
	}
	after := before.clone()
	for _, rule := range rules {
		if err := after.apply(rule, allChannels); err != nil {
			return &RuleError{rule, err}
		}
	}
	if u == nil {
		u = us.newUser(name, after)
		us.mu.Lock()
		us.byName[name] = u
		us.mu.Unlock()
	} else {
		us.mu.Lock() // so that no login is by rules of which it misses the change
		u.set(after)
		us.mu.Unlock()
	}
	if changed != nil {
		changed(u, before)
	}
	return nil
}

// Delete deletes the user called name and returns it, or nil if there is none or it is
// the default user.
func (us *Users) Delete(name string) *User {
	us.changing.Lock()
	defer us.changing.Unlock()
	us.mu.Lock()
	defer us.mu.Unlock()
	u := us.byName[name]
	if u == nil || u == us.byDefault {
		return nil
	}
	delete(us.byName, name)
	u.deleted.Store(true)
	return u
}

// Replace replaces all users, by those of a file. The default user keeps its identity and
// gets the rules of the new one, if there is one, and those of NewUsers otherwise. It
// returns the users that are deleted: all former ones, even if a new one has the name.
func (us *Users) Replace(f *File) (deleted []*User) {
	us.changing.Lock()
	defer us.changing.Unlock()
	us.mu.Lock()
	defer us.mu.Unlock()
	for _, u := range us.byName {
		if u != us.byDefault {
			u.deleted.Store(true)
			deleted = append(deleted, u)
		}
	}
	us.byName = map[string]*User{DefaultName: us.byDefault}
	us.byDefault.set(everything(us.commands))
	for _, entry := range f.users {
		if entry.name == DefaultName {
			us.byDefault.set(entry.rules)
		} else {
			us.byName[entry.name] = us.newUser(entry.name, entry.rules)
		}
	}
	return deleted
}

// Snapshot returns all users with their rules, for Replace.
func (us *Users) Snapshot() *File {
	f := &File{}
	for _, u := range us.All() {
		f.users = append(f.users, fileUser{u.Name(), u.Rules()})
	}
	return f
}

// String returns a line for each user, in the order of their names, as ACL SAVE writes
// them.
func (us *Users) String() string {
	var b strings.Builder
	for _, u := range us.All() {
		b.WriteString(u.Line() + "\n")
	}
	return b.String()
}

// Line returns the user in the form of ACL LIST: "user", the name and the rules.
func (u *User) Line() string { return "user " + u.name + " " + u.Rules().String() }
