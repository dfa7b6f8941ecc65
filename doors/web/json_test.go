package web

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/policy"
)

// textOf returns all that a question has.
func textOf(q *question) string {
	if q.ofKey {
		return fmt.Sprintf("%q %q %q %d", q.key.Key, q.key.Limits, q.key.Algorithm, q.key.Cost)
	}
	r := &q.request
	text := fmt.Sprintf("%q %d", r.Domain, r.Hits)
	for i := range r.Descriptors {
		d := &r.Descriptors[i]
		text += fmt.Sprintf("; %q", d.Entries)
		if d.Hits != nil {
			text += fmt.Sprintf(" hits %d", *d.Hits)
		}
		if d.Override != nil {
			text += fmt.Sprintf(" %d %d", d.Override.Requests, d.Override.Unit)
		}
	}
	return text
}

// differs compares what a parser makes of a body with what encoding/json does. It returns what differs, or
// "".
func differs(plain func([]byte, *question) bool, body string) string {
	if !utf8.ValidString(body) {
		return "" // refused before
	}
	var got question
	if !plain([]byte(body), &got) {
		return "" // encoding/json decides
	}
	want, err := parse([]byte(body))
	if err != nil {
		return err.Error()
	}
	if a, b := textOf(&got), textOf(want); a != b {
		return a + " is " + b
	}
	return ""
}

// plainBodies are read by parsePlain.
var plainBodies = []string{
	`{}`, " \t\r\n{ } ", `{"domain":""}`, "{\"domain\":\"é/.\x7f\"}", `{"hits":0}`, `{"hits":4294967295}`,
	`{"descriptors":[]}`, `{"descriptors":[{}]}`, `{"descriptors":[{"entries":[]},{"entries":[{}]}]}`,
	`{"hits" : 2 , "descriptors" : [ { "entries" : [ { "value" : "b" , "key" : "a" } ] } ] , "domain" : "" }`,
	`{"descriptors":[{"hits":18446744073709551615},{"hits":0}]}`,
	`{"descriptors":[{"limit":{"unit":"year","requests_per_unit":4294967295}},{"limit":{"unit":"second"}}]}`,
	`{"domain":"d","descriptors":[{"entries":[{"key":"a","value":"b"},{"key":"c","value":"d"}]}],"hits":1}`,
	`{"key":""}`, `{"key":"k","limits":[]}`, `{"cost":9223372036854775807,"key":"k","algorithm":"GCRA 5"}`,
	`{"limits":[{"limit":1,"window":"1s"},{"window":"60000","limit":9223372036854775807}],"key":"user:42"}`,
}

// otherBodies are not: encoding/json may take them, or not.
var otherBodies = []string{
	``, `null`, `[]`, `{`, `{}}`, `{},`, `{} {}`, "{}\x00", "\x00{}", `{,}`, `{"hits":1,}`,
	`{"hits"}`, `{"hits":}`,
	`{hits:1}`, `{'hits':1}`, `{"HITS":1}`, `{"h\u0069ts":1}`, `{"hits":1,"hits":2}`,
	`{"hits":1 "domain":"d"}`,
	`{"hits":null}`, `{"hits":"1"}`, `{"hits":-1}`, `{"hits":-0}`, `{"hits":01}`, `{"hits":00}`,
	`{"hits":1.0}`,
	`{"hits":1e0}`, `{"hits":+1}`, `{"hits":4294967296}`, `{"hits":1_0}`, `{"hits":0x1}`, `{"hits":true}`,
	`{"hits":1a}`,
	`{"descriptors":[{"hits":18446744073709551616}]}`, `{"descriptors":[{"hits":100000000000000000000}]}`,
	`{"domain":"\""}`, `{"domain":"\u00e9"}`, `{"domain":"\ud800"}`, `{"domain":"\x"}`, "{\"domain\":\"\n\"}",
	"{\"domain\":\"a\x00\"}", `{"domain":"a}`, `{"domain":1}`, `{"domain":{}}`, `{"domian":"d"}`,
	`{"domain":"a""b"}`,
	`{"descriptors":[null]}`, `{"descriptors":null}`, `{"descriptors":{}}`, `{"descriptors":[{},]}`,
	`{"descriptors":[,{}]}`,
	`{"descriptors":[{}`, `{"descriptors":[{}{}]}`, `{"descriptors":[[]]}`, `{"descriptors":[{"limit":{}}]}`,
	`{"descriptors":[{"limit":{"unit":"Second"}}]}`, `{"descriptors":[{"limit":{"unit":""}}]}`,
	`{"descriptors":[{"entries":[{"key":"a"}],"entries":[{"value":"b"}]}]}`,
	`{"descriptors":[{"domain":"d"}]}`,
	`{"descriptors":[{"hits":1}],"descriptors":[{}]}`,
	`{"key":"k","domain":""}`, `{"key":"k","hits":0}`, `{"cost":1}`, `{"limits":[]}`, `{"algorithm":""}`,
	`{"key":"k","cost":9223372036854775808}`, `{"key":"k","cost":-1}`, `{"key":"k","key":"k"}`,
	`{"key":"k","limits":[{"limit":1}]}`, `{"key":"k","limits":[{"window":"1s"}]}`,
	`{"key":"k","limits":[{"limit":1,"window":""}]}`, `{"key":"k","limits":[{"limit":1,"limit":1}]}`,
	`{"descriptors":[{"entries":[{"key":"a","key":"b"}]}]}`,
	"{\u00a0}", "\ufeff{}", `/**/{}`, strings.Repeat("[", 20_000), `{"x":` + strings.Repeat("[", 20_000),
}

func TestPlainBodies(t *testing.T) {
	for _, body := range plainBodies {
		require.True(t, parsePlain([]byte(body), new(question)), body)
		require.Empty(t, differs(parsePlain, body), body)
	}
	for _, body := range otherBodies {
		require.False(t, parsePlain([]byte(body), new(question)), body)
	}
}

// TestPlainBodiesAreCompared: the comparison notices parsers with faults.
func TestPlainBodiesAreCompared(t *testing.T) {
	for body, fault := range map[string]func([]byte, *question) bool{
		`{"hits":1`:            func([]byte, *question) bool { return true },
		`{"hits":01}`:          func(_ []byte, q *question) bool { q.request.Hits = 1; return true },
		`{"hits":1,"hits":2}`:  func(_ []byte, q *question) bool { q.request.Hits = 1; return true },
		`{"descriptors":[{}]}`: func([]byte, *question) bool { return true },
		`{"domain":"a"}`: func(body []byte, q *question) bool {
			ok := parsePlain(body, q)
			q.request.Domain[0]++
			return ok
		},
		`{"key":"a"}`: func(body []byte, q *question) bool {
			ok := parsePlain(body, q)
			q.key.Cost = 0
			return ok
		},
	} {
		require.NotEmpty(t, differs(fault, body), body)
		require.Empty(t, differs(parsePlain, body), body)
	}
}

// FuzzPlain: what parsePlain reads, encoding/json reads as well, as the same request.
func FuzzPlain(f *testing.F) {
	for _, body := range append(plainBodies, otherBodies...) {
		if len(body) < 1000 {
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, body string) {
		if difference := differs(parsePlain, body); difference != "" {
			t.Fatalf("%q: %s", body, difference)
		}
	})
}

// TestMemoryIsUsedAgain: nothing of a request is left for the next one.
func TestMemoryIsUsedAgain(t *testing.T) {
	s := New(new(Options))
	ck := new(checking)
	for _, body := range []string{
		plainBodies[9], `{"descriptors":[{"hits":1},{"hits":`, `{"descriptors":[{},{}]}`, plainBodies[16],
		`{"limits":[{"limit":1,"window":"1m"},{"limit":2`, `{"key":"a"}`, plainBodies[9],
	} {
		require.NoError(t, ck.readBody(strings.NewReader(body)))
		request, err := ck.parse()
		if err == nil {
			want, err := parse([]byte(body))
			require.NoError(t, err)
			require.Equal(t, textOf(want), textOf(request))
		}
		s.release(ck)
	}
	require.NoError(t, ck.readBody(strings.NewReader(plainBodies[12])))
	allocs := testing.AllocsPerRun(100, func() {
		ck.question.request.Descriptors = ck.question.request.Descriptors[:0]
		if _, err := ck.parse(); err != nil {
			t.Error(err)
		}
	})
	require.LessOrEqual(t, allocs, 2.0, "for entries")
}

// What an answer of /v1/check has, for encoding/json.
type (
	answerJSON struct {
		Code     string       `json:"code"`
		Statuses []statusJSON `json:"statuses"`
	}
	statusJSON struct {
		Code         string     `json:"code"`
		Limit        *limitJSON `json:"limit,omitempty"`
		Remaining    *uint32    `json:"remaining,omitempty"`
		ResetSeconds *int64     `json:"reset_seconds,omitempty"`
		RetryMs      *int64     `json:"retry_ms,omitempty"`
		QuotaOver    bool       `json:"quota_over,omitempty"`
	}
	limitJSON struct {
		Name     string `json:"name,omitempty"`
		Requests uint32 `json:"requests_per_unit"`
		Unit     string `json:"unit,omitempty"`
	}
)

// byEncodingJSON returns what appendAnswer should.
func byEncodingJSON(t *testing.T, response *doors.Response) string {
	t.Helper()
	code := map[doors.Code]string{doors.OK: "OK", doors.OverLimit: "OVER_LIMIT"}
	a := answerJSON{code[response.Code], []statusJSON{}}
	for i := range response.Statuses {
		s := &response.Statuses[i]
		to := statusJSON{Code: code[s.Code], QuotaOver: s.QuotaOver}
		if s.HasLimit {
			to.Limit = &limitJSON{s.Limit.Name, s.Limit.Requests, s.Limit.Unit.String()}
			to.Remaining = &s.Remaining
			if s.HasReset {
				to.ResetSeconds = &s.ResetSeconds
			}
		}
		if s.Code == doors.OverLimit {
			to.RetryMs = &s.RetryMs
		}
		a.Statuses = append(a.Statuses, to)
	}
	text, err := json.Marshal(a)
	require.NoError(t, err)
	return string(text) + "\n"
}

// FuzzAnswer: answers are what encoding/json writes.
func FuzzAnswer(f *testing.F) {
	f.Add("", uint32(0), uint32(0), int64(0), int64(-1), uint8(0))
	f.Add("a<b>&\"\\\u2028\x7f\xff\x00é", uint32(7), uint32(math.MaxUint32), int64(-7), int64(math.MaxInt64),
		uint8(255))
	f.Add("per minute", uint32(10), uint32(3), int64(31), int64(0), uint8(6))
	f.Fuzz(func(t *testing.T, name string, requests, remaining uint32, reset, retry int64, flags uint8) {
		response := doors.Response{Code: doors.OK}
		for i := range flags % 4 {
			flag := func(bit int) bool { return (flags+i*37)>>bit&1 != 0 }
			s := doors.Status{
				Code: doors.OK, HasLimit: flag(0), HasReset: flag(1), QuotaOver: flag(2),
				Remaining: remaining, ResetSeconds: reset, RetryMs: retry,
				Limit: doors.Limit{Name: name, Requests: requests, Unit: policy.Unit(flags >> 4 % 8)},
			}
			if flag(3) {
				s.Code, response.Code = doors.OverLimit, doors.OverLimit
			}
			response.Statuses = append(response.Statuses, s)
		}
		require.Equal(t, byEncodingJSON(t, &response), string(appendAnswer(nil, &response)))
	})
}
