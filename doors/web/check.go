package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/listener"
	"github.com/zlimit/zlimit/policy"
)

// What the body of /v1/check has.
type (
	checkBody struct {
		// About descriptors.
		Domain      string           `json:"domain"`
		Descriptors []descriptorBody `json:"descriptors"`
		Hits        uint32           `json:"hits"`
		// About a key.
		Key       *string     `json:"key"`
		Limits    []quotaBody `json:"limits"`
		Algorithm string      `json:"algorithm"`
		Cost      *int64      `json:"cost"`
	}
	descriptorBody struct {
		Entries []entryBody `json:"entries"`
		Hits    *uint64     `json:"hits"`
		Limit   *limitBody  `json:"limit"`
	}
	entryBody struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	limitBody struct {
		Requests uint32 `json:"requests_per_unit"`
		Unit     string `json:"unit"`
	}
	quotaBody struct {
		Limit  *int64 `json:"limit"`
		Window string `json:"window"`
	}
)

// A question is what a body asks.
type question struct {
	request doors.Request
	key     doors.KeyRequest
	ofKey   bool // it asks about key, not request
}

var (
	errBody   = errors.New("the body is one JSON object, in UTF-8")
	errUnit   = errors.New("the unit of a limit is second, minute, hour, day, week, month or year")
	errForm   = errors.New("the body has domain, descriptors and hits, or key, limits, algorithm and cost")
	errQuota  = errors.New("each of the limits has a limit and a window")
	errLength = errors.New("the body has more than 64 KB")
	errType   = errors.New("the body is " + jsonType)
)

const jsonType = "application/json"

// check answers POST /v1/check.
func (s *Server) check(w http.ResponseWriter, r *http.Request) {
	if !isJSON(r.Header.Get("Content-Type")) {
		// Scripts of other sites can send every other type without asking.
		fail(w, r, http.StatusUnsupportedMediaType, errType.Error())
		return
	}
	if r.ContentLength > maxBody {
		fail(w, r, http.StatusRequestEntityTooLarge, errLength.Error())
		return
	}
	ck := s.checks.Get().(*checking)
	defer s.release(ck)
	if err := ck.readBody(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		fail(w, r, http.StatusBadRequest, "the body has not arrived")
		return
	}
	listener.HasRead(r)
	q, err := ck.parse()
	if err != nil {
		fail(w, r, http.StatusBadRequest, err.Error())
		return
	}
	cr := credentials(r)
	if given := r.Header["Authorization"]; len(given) > 1 {
		fail(w, r, http.StatusBadRequest, "Authorization is given twice")
		return
	} else if len(given) == 1 {
		cr.Authorization = given[0]
	}
	refuse := func(f *doors.Refusal) { refuseCheck(w, r, f) }
	q.request.Gone, q.key.Gone = r.Context().Done(), r.Context().Done()
	ask := func(c doors.Client) error {
		if q.ofKey {
			return c.Allow(&q.key, &ck.decision)
		}
		return c.Decide(&q.request, &ck.response)
	}
	if !s.decide(&cr, ask, refuse) {
		return
	}
	var status int
	if ck.answer = ck.answer[:0]; q.ofKey {
		status = writeKeyDecision(w.Header(), &ck.decision)
		ck.answer = appendKeyAnswer(ck.answer, &ck.decision)
	} else {
		status = writeDecision(w.Header(), q.request.Domain, &ck.response)
		ck.answer = appendAnswer(ck.answer, &ck.response)
	}
	writeBody(w, status, ck.answer)
}

// isJSON reports whether a content type is jsonType, with or without parameters.
func isJSON(contentType string) bool {
	if contentType == jsonType {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == jsonType
}

// A checking is the memory for a request of /v1/check. Those of requests that have ended are used again.
type checking struct {
	body     []byte
	question question
	response doors.Response
	decision doors.KeyDecision
	answer   []byte
}

// What a checking keeps the memory of.
const (
	maxKept         = 1 << 12 // bytes of a body or an answer
	maxKeptStatuses = 16      // of descriptors and limits too
)

// release makes the memory of a request free for others, unless it is large.
func (s *Server) release(ck *checking) {
	descriptors, limits := ck.question.request.Descriptors, ck.question.key.Limits
	if cap(ck.body) > maxKept || cap(ck.answer) > maxKept || cap(descriptors) > maxKeptStatuses ||
		cap(limits) > maxKeptStatuses || cap(ck.response.Statuses) > maxKeptStatuses {
		return
	}
	clear(descriptors)
	clear(limits)
	ck.question = question{
		request: doors.Request{Descriptors: descriptors[:0]}, key: doors.KeyRequest{Limits: limits[:0]},
	}
	s.checks.Put(ck)
}

// readBody reads all of a body.
func (ck *checking) readBody(from io.Reader) error {
	ck.body = ck.body[:0]
	for {
		ck.body = slices.Grow(ck.body, 512)
		n, err := from.Read(ck.body[len(ck.body):cap(ck.body)])
		ck.body = ck.body[:len(ck.body)+n]
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// parse makes a question of the body, which it refers to.
func (ck *checking) parse() (*question, error) {
	if !utf8.Valid(ck.body) {
		return nil, errBody
	}
	if parsePlain(ck.body, &ck.question) {
		return &ck.question, nil
	}
	return parse(ck.body)
}

// parse makes a question of a body that is valid UTF-8.
func parse(body []byte) (*question, error) {
	var in checkBody
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errBody
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errBody
	}
	aboutDescriptors := in.Domain != "" || in.Descriptors != nil || in.Hits != 0
	aboutKey := in.Limits != nil || in.Algorithm != "" || in.Cost != nil
	switch ofKey := in.Key != nil; {
	case ofKey && aboutDescriptors, !ofKey && aboutKey:
		return nil, errForm
	case ofKey:
		return in.ofKey()
	}
	out, err := in.ofDescriptors()
	return &question{request: out}, err
}

// ofKey returns the question of a body that has a key.
func (in *checkBody) ofKey() (*question, error) {
	q := &question{ofKey: true}
	q.key = doors.KeyRequest{Key: []byte(*in.Key), Algorithm: []byte(in.Algorithm), Cost: 1}
	if in.Cost != nil {
		q.key.Cost = *in.Cost
	}
	for _, l := range in.Limits {
		if l.Limit == nil || l.Window == "" {
			return nil, errQuota
		}
		q.key.Limits = append(q.key.Limits, doors.KeyLimit{Limit: *l.Limit, Window: []byte(l.Window)})
	}
	return q, nil
}

// ofDescriptors returns the request of a body that has descriptors.
func (in *checkBody) ofDescriptors() (doors.Request, error) {
	out := doors.Request{
		Domain: []byte(in.Domain), Hits: in.Hits, Descriptors: make([]doors.Descriptor, len(in.Descriptors)),
	}
	for i := range in.Descriptors {
		from, to := &in.Descriptors[i], &out.Descriptors[i]
		to.Hits = from.Hits
		for _, e := range from.Entries {
			to.Entries = append(to.Entries, doors.Entry{Key: []byte(e.Key), Value: []byte(e.Value)})
		}
		if from.Limit != nil {
			unit := unitOf(from.Limit.Unit)
			if !unit.Valid() {
				return out, errUnit
			}
			to.Override = &doors.Override{Requests: from.Limit.Requests, Unit: unit}
		}
	}
	return out, nil
}

// unitOf returns the unit with this name, or policy.UnknownUnit.
func unitOf(name string) policy.Unit {
	for u := policy.Second; u.Valid(); u++ {
		if u.String() == name {
			return u
		}
	}
	return policy.UnknownUnit
}
