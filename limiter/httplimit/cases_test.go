package httplimit_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/limiter/httplimit"
	"github.com/zlimit/zlimit/scenario"
	"github.com/zlimit/zlimit/zlimittest"
)

// TestCases runs testdata/*.cases, in the format of package scenario. A command is a request through a
// middleware; a + behind it adds the headers of Legacy. The reply is the answer, and what is logged. A QUOTA
// is a name, a limit, a window and a cost. Each runs on two servers, which are asked by commands and by
// types; what differs is joined by "or".
//
//	ALLOWED QUOTA REMAINING RESET       a backend admits it
//	DENIED QUOTA REMAINING RETRY RESET  a backend denies it
//	BOTH QUOTA QUOTA                    a backend admits it in two middlewares: the first is inner
//	FAILED TEXT                         the backend fails
//	COMPUTED QUOTA                      the server decides by a quota that is the request's own
//	FROM USER QUOTA                     so, by a key
//	ASK KEY QUOTA                       the server's decision: whether it admits, and whether it never does
//	NEW QUOTA                           New for the server, and for a backend that decides anything
//
// Anything else is a command to the servers.
func TestCases(t *testing.T) {
	scenario.Play(t, "testdata/*.cases", func(t *testing.T, _ scenario.Section) *scenario.Runner {
		servers := map[string]*zlimittest.Server{}
		for _, name := range []string{"commands", "typed"} {
			servers[name] = zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
			servers[name].Set(time.UnixMilli(scenario.StartMs))
		}
		c := scenario.AnsweringText(func(args [][]byte) string {
			var words []string
			for _, arg := range args {
				words = append(words, string(arg))
			}
			replies := map[string]bool{}
			for name, srv := range servers {
				r := caseRequest{t, words[1:], srv, backends(srv)[name]}
				replies[r.answer(words[0])] = true
			}
			return strings.Join(slices.Sorted(maps.Keys(replies)), " or ")
		})
		return &scenario.Runner{
			Dial: func(string) (scenario.Client, error) { return c, nil },
			SetClock: func(nowMs int64) error {
				for _, srv := range servers {
					srv.Set(time.UnixMilli(nowMs))
				}
				return nil
			},
		}
	})
}

// A caseRequest is a command of a case to one of the servers.
type caseRequest struct {
	t       *testing.T
	words   []string
	srv     *zlimittest.Server
	backend httplimit.Backend
}

// next takes the next word.
func (r *caseRequest) next() (word string) {
	word, r.words = r.words[0], r.words[1:]
	return word
}

func (r *caseRequest) number() int64 {
	n, err := strconv.ParseInt(r.next(), 10, 64)
	require.NoError(r.t, err)
	return n
}

func (r *caseRequest) duration() time.Duration {
	word := r.next()
	if word == "never" {
		return httplimit.Never
	}
	d, err := time.ParseDuration(word)
	require.NoError(r.t, err)
	return d
}

func (r *caseRequest) quota() httplimit.Quota {
	return httplimit.Quota{Name: r.next(), Limit: r.number(), Window: r.duration(), Cost: r.number()}
}

// made returns what New says of a quota.
func made(b httplimit.Backend, q httplimit.Quota) (text string) {
	defer func() {
		if refusal := recover(); refusal != nil {
			text = fmt.Sprint(refusal)
		}
	}()
	httplimit.New(httplimit.Options{Backend: b, Quota: q, OnError: httplimit.FailOpen})
	return "made"
}

func (r *caseRequest) answer(verb string) string {
	var log bytes.Buffer
	o := httplimit.Options{OnError: httplimit.FailOpen, Log: logTo(&log)}
	verb, o.Legacy = strings.CutSuffix(verb, "+")
	q, next := httplimit.Quota{Limit: 1, Window: time.Second}, http.Handler(hello)
	switch verb {
	case "ALLOWED":
		q = r.quota()
		o.Backend = fixed(httplimit.Decision{Allowed: true, Remaining: r.number(), ResetAfter: r.duration()})
	case "DENIED":
		q = r.quota()
		o.Backend = fixed(httplimit.Decision{
			Remaining: r.number(), RetryAfter: r.duration(), ResetAfter: r.duration(),
		})
	case "BOTH":
		o.Backend = fixed(httplimit.Decision{Allowed: true, Remaining: 1})
		inner := o
		inner.Quota = r.quota()
		next = httplimit.New(inner)(hello)
		q = r.quota()
	case "FAILED":
		err := errors.New(r.next())
		if rest, ok := strings.CutPrefix(err.Error(), httplimit.ErrQuota.Error()); ok {
			err = fmt.Errorf("%w%s", httplimit.ErrQuota, rest)
		}
		o.Backend = failing(err)
	case "COMPUTED":
		q, o.Backend = r.quota(), r.backend
		o.OnError = failTest(r.t)
	case "FROM":
		user := r.next()
		q, o.Backend = r.quota(), r.backend
		o.Key = func(*http.Request) string { return user }
	case "ASK":
		d, err := r.backend.Allow(r.t.Context(), r.next(), r.quota())
		require.NoError(r.t, err)
		return fmt.Sprint(d.Allowed, " ", d.RetryAfter == httplimit.Never)
	case "NEW":
		q = r.quota()
		return made(r.backend, q) + "; " + made(fixed(httplimit.Decision{}), q)
	default:
		args := []any{verb}
		for _, word := range r.words {
			args = append(args, word)
		}
		return fmt.Sprint(r.srv.Do(args...))
	}
	o.QuotaFor = func(*http.Request) (httplimit.Quota, bool) { return q, true }
	w := get(httplimit.New(o)(next), nil)
	out := []string{fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))}
	for _, name := range slices.Sorted(maps.Keys(w.Header())) {
		if name != "Content-Type" && name != "X-Content-Type-Options" {
			out = append(out, name+": "+strings.Join(w.Header()[name], ", "))
		}
	}
	for line := range strings.Lines(log.String()) {
		out = append(out, strings.TrimSpace(line))
	}
	return strings.Join(out, "; ")
}
