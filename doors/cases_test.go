package doors_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scenario"
)

// TestCases runs testdata/*.cases, in the format of package scenario, on engines with the policies of files.
// On connection A the program that runs the engine sends commands. Others are clients of a door: c without
// credentials, others with a certificate of their name. Their commands are decide, with what request parses,
// and allow, with what ofKey does. Refusals begin with "!" and their reason. A command on connection
// login has the user of the door, the name of a certificate and the Authorization header of a client, which
// then decides about a key of each and one of all.
//
//	@tally NAME   what was counted of a policy
func TestCases(t *testing.T) {
	scenario.Play(t, "testdata/*.cases", func(t *testing.T, s scenario.Section) *scenario.Runner {
		w := newWorld(t, s.Directives...)
		tally := func(name string) ([]byte, error) {
			n := w.engine.Policies().Find(name).Counts().Tally()
			return fmt.Appendf(nil, "+allowed %d denied %d shadow %d units %d\r\n",
				n.Allowed, n.Denied, n.Shadow, n.Units), nil
		}
		return &scenario.Runner{Dial: w.dial, Own: map[string]func(string) ([]byte, error){"tally": tally}}
	}, "tally")
}

func (w *world) dial(name string) (scenario.Client, error) {
	if name == "A" {
		return scenario.Answering(func(args [][]byte) []byte {
			reply := w.admin.Do(args)
			return resp.Append(nil, &reply, resp.RESP2)
		}), nil
	}
	credentials := doors.Credentials{Addr: name}
	if name != "c" {
		credentials.CommonName = name
	}
	if name == "login" {
		return scenario.AnsweringText(w.loggedIn), nil
	}
	c := w.login(credentials)
	return scenario.AnsweringText(func(args [][]byte) string {
		text := string(bytes.Join(args[1:], []byte(" ")))
		if string(args[0]) == "allow" {
			return allow(c, text)
		}
		return decide(c, text)
	}), nil
}

// loggedIn is the reply to a command on connection login.
func (w *world) loggedIn(args [][]byte) string {
	access := w.access
	access.User = string(args[0])
	c, err := access.Login(doors.Credentials{CommonName: string(args[1]), Authorization: string(args[2])})
	if err != nil {
		return refused(err)
	}
	defer c.Close()
	return decide(c, "each ip=a") + "; " + decide(c, "all ip=a")
}
