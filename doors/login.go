package doors

import (
	"encoding/base64"
	"strings"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/engine"
)

// Access says whose decisions the requests of a door are.
type Access struct {
	Engine *engine.Engine
	// Peer returns what a session knows of a connection from this address.
	Peer func(addr string) engine.Peer
	// User, if it is not "", is the user of requests without credentials. Otherwise they are of the user that
	// has the name of their certificate, if there is one, or else of the default user, if that needs no
	// password.
	User string
	// Ending is closed when the door closes.
	Ending <-chan struct{}
}

// Login opens a client for the user whom credentials name.
func (a *Access) Login(cr Credentials) (Client, error) {
	c := &engineClient{engine: a.Engine, woke: make(chan struct{}, 1), ending: a.Ending}
	p := a.Peer(cr.Addr)
	p.Kill = func() {} // the next call notices
	p.Wake = func() {
		select {
		case c.woke <- struct{}{}:
		default: // already signaled
		}
	}
	name, password, err := cr.login()
	if err != nil {
		return nil, err
	}
	c.open = func() error {
		var err error
		switch {
		case name != "":
			c.session, err = a.Engine.LoginSession(p, name, password)
		case a.User != "":
			c.session, err = a.Engine.SessionOf(p, a.User)
		case cr.CommonName != "" && cr.CommonName != acl.DefaultName && a.Engine.HasUser(cr.CommonName):
			c.session, err = a.Engine.SessionOf(p, cr.CommonName)
		default:
			c.session, err = a.Engine.LoginSession(p, "", "")
		}
		if err != nil {
			return &Refusal{Unauthenticated, err.Error()}
		}
		return nil
	}
	if err := c.open(); err != nil {
		return nil, err
	}
	return c, nil
}

// login returns the name and the password of an Authorization header: Basic has both, Bearer name:password,
// or the password of the default user. Without a header the name is empty.
func (cr *Credentials) login() (name, password string, err error) {
	if cr.Authorization == "" {
		return "", "", nil
	}
	scheme, value, _ := strings.Cut(cr.Authorization, " ")
	value = strings.TrimSpace(value)
	bearer := strings.EqualFold(scheme, "bearer")
	if strings.EqualFold(scheme, "basic") {
		text, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return "", "", errCredentials
		}
		value = string(text)
	} else if !bearer {
		return "", "", errCredentials
	}
	name, password, both := strings.Cut(value, ":")
	switch {
	case !both && bearer:
		return acl.DefaultName, value, nil
	case !both:
		return "", "", errCredentials
	case name == "":
		name = acl.DefaultName
	}
	return name, password, nil
}

var errCredentials = &Refusal{
	Unauthenticated, "the credentials are not Basic with name:password, nor Bearer with a password",
}
