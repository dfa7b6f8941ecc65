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
		Domain      string           `json:"domain"`
		Descriptors []descriptorBody `json:"descriptors"`
		Hits        uint32           `json:"hits"`
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
)

var (
	errBody   = errors.New("the body is one JSON object, in UTF-8")
	errUnit   = errors.New("the unit of a limit is second, minute, hour, day, week, month or year")
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
	request, err := ck.parse()
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
	if !s.decide(r, &cr, request, &ck.response, refuse) {
		return
	}
	status := writeDecision(w.Header(), request.Domain, &ck.response)
	ck.answer = appendAnswer(ck.answer[:0], &ck.response)
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
	request  doors.Request
	response doors.Response
	answer   []byte
}

// What a checking keeps the memory of.
const (
	maxKept         = 1 << 12 // bytes of a body or an answer
	maxKeptStatuses = 16
)

// release makes the memory of a request free for others, unless it is large.
func (s *Server) release(ck *checking) {
	if cap(ck.body) > maxKept || cap(ck.answer) > maxKept || cap(ck.request.Descriptors) > maxKeptStatuses ||
		cap(ck.response.Statuses) > maxKeptStatuses {
		return
	}
	clear(ck.request.Descriptors)
	ck.request = doors.Request{Descriptors: ck.request.Descriptors[:0]}
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

// parse makes a request of the body, which it refers to.
func (ck *checking) parse() (*doors.Request, error) {
	if !utf8.Valid(ck.body) {
		return nil, errBody
	}
	if parsePlain(ck.body, &ck.request) {
		return &ck.request, nil
	}
	return parse(ck.body)
}

// parse makes a request of a body that is valid UTF-8.
func parse(body []byte) (*doors.Request, error) {
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
	out := &doors.Request{
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
				return nil, errUnit
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
