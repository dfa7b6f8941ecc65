package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/scenario"
)

// What a proxy sets.
var byProxy = []string{"X-Original-Method: GET", "X-Original-URI: /a?b=c", "X-Real-IP: 192.0.2.1"}

// TestCases runs testdata/*.cases, in the format of package scenario, on the server of newBench. Commands are
// requests, whose headers are words, a second after one another. The reply is the status and what the client
// was asked, or the body; a line of the log is behind "logged".
//
//	GET TARGET HEADER ...               a request of a proxy
//	EDGE HEADER ...                     one to the domain edge with the proxy's headers; -NAME takes one out
//	URI TEXT                            one with another X-Original-URI
//	PROXY QUERY                         one with another query of /v1/auth
//	CHECK BODY                          a body of JSON to /v1/check
//	DECIDED JSON                        a call to /v1/check whose decision is a doors.Response, and
//	ALLOWED JSON                        one about a key, a doors.KeyDecision: status, headers as shown, body
//	SEND METHOD TARGET BODY HEADER ...  any other
func TestCases(t *testing.T) {
	scenario.Play(t, "testdata/*.cases", func(t *testing.T, _ scenario.Section) *scenario.Runner {
		b := newBench(t)
		c := scenario.AnsweringText(func(args [][]byte) string {
			var words []string
			for _, arg := range args {
				words = append(words, string(arg))
			}
			return b.ask(words[0], words[1:])
		})
		return &scenario.Runner{Dial: func(string) (scenario.Client, error) { return c, nil }}
	})
}

// ask sends the request of a case.
func (b *bench) ask(verb string, words []string) string {
	r := request("GET", edge, "", byProxy...)
	switch verb {
	case "DECIDED":
		b.decide = func(_ *doors.Request, out *doors.Response) error {
			*out = doors.Response{}
			return json.Unmarshal([]byte(words[0]), out)
		}
		w, body := b.check(oneDescriptor)
		return fmt.Sprint(w.Code, " ", shown(w.Header()), " ", body)
	case "ALLOWED":
		b.allow = func(out *doors.KeyDecision) error { return json.Unmarshal([]byte(words[0]), out) }
		w, body := b.check(`{"key":"a"}`)
		return fmt.Sprint(w.Code, " ", shown(w.Header()), " ", body)
	case "GET":
		r = request("GET", words[0], "", words[1:]...)
	case "EDGE":
		for _, word := range words {
			if name, ok := strings.CutPrefix(word, "-"); ok {
				r.Header.Del(name)
				continue
			}
			name, value, _ := strings.Cut(word, ": ")
			r.Header.Add(name, value)
		}
	case "URI":
		r.Header.Set("X-Original-URI", words[0])
	case "PROXY":
		r = request("GET", "/v1/auth?"+words[0], "", byProxy...)
	case "CHECK":
		r = request("POST", "/v1/check", words[0], "Content-Type: application/json")
	case "SEND":
		r = request(words[0], words[1], words[2], words[3:]...)
	default:
		b.t.Fatal("unknown request ", verb)
	}
	b.now, b.logged = b.now.Add(time.Second), nil
	w, body := b.do(r)
	text := body
	switch {
	case len(b.logged) > 0:
		require.Equal(b.t, []string{"/v1/auth: " + body}, b.logged)
		require.Equal(b.t, 500, w.Code, "a client cannot fill the log")
		text = "logged " + body
	case w.Code == 200:
		text = b.last()
		if verb == "CHECK" && strings.Contains(body, "statuses") {
			require.JSONEq(b.t, `{"code":"OK","statuses":[]}`, body)
		}
	}
	require.Empty(b.t, b.last(), "whoever is refused has asked nothing")
	return strings.TrimSpace(fmt.Sprint(w.Code, " ", text))
}
