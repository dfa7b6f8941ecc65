package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
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
	errType   = errors.New("the body is application/json")
)

// check answers POST /v1/check.
func (s *Server) check(w http.ResponseWriter, r *http.Request) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		// Scripts of other sites can send every other type without asking.
		fail(w, r, http.StatusUnsupportedMediaType, errType.Error())
		return
	}
	if r.ContentLength > maxBody {
		fail(w, r, http.StatusRequestEntityTooLarge, errLength.Error())
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, r, http.StatusBadRequest, "the body has not arrived")
		return
	}
	listener.HasRead(r)
	request, err := parse(body)
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
	var response doors.Response
	refuse := func(f *doors.Refusal) { refuseCheck(w, r, f) }
	if !s.decide(r, &cr, request, &response, refuse) {
		return
	}
	status := writeDecision(w.Header(), request.Domain, &response)
	writeJSON(w, status, answerOf(&response))
}

// parse makes a request of a body.
func parse(body []byte) (*doors.Request, error) {
	if !utf8.Valid(body) {
		return nil, errBody
	}
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

// What an answer of /v1/check has.
type (
	answer struct {
		Code     string         `json:"code"`
		Statuses []statusAnswer `json:"statuses"`
	}
	statusAnswer struct {
		Code         string       `json:"code"`
		Limit        *limitAnswer `json:"limit,omitempty"`
		Remaining    *uint32      `json:"remaining,omitempty"`
		ResetSeconds *int64       `json:"reset_seconds,omitempty"`
		// RetryMs is only in statuses that deny; -1: never.
		RetryMs   *int64 `json:"retry_ms,omitempty"`
		QuotaOver bool   `json:"quota_over,omitempty"`
	}
	limitAnswer struct {
		Name     string `json:"name,omitempty"`
		Requests uint32 `json:"requests_per_unit"`
		Unit     string `json:"unit,omitempty"`
	}
)

func codeOf(c doors.Code) string {
	if c == doors.OverLimit {
		return "OVER_LIMIT"
	}
	return "OK"
}

// answerOf returns the answer to a decision. Its pointers are into the response.
func answerOf(response *doors.Response) *answer {
	a := &answer{codeOf(response.Code), make([]statusAnswer, len(response.Statuses))}
	for i := range response.Statuses {
		s, to := &response.Statuses[i], &a.Statuses[i]
		to.Code, to.QuotaOver = codeOf(s.Code), s.QuotaOver
		if s.HasLimit {
			to.Limit = &limitAnswer{s.Limit.Name, s.Limit.Requests, s.Limit.Unit.String()}
			to.Remaining = &s.Remaining
			if s.HasReset {
				to.ResetSeconds = &s.ResetSeconds
			}
		}
		if s.Code == doors.OverLimit {
			to.RetryMs = &s.RetryMs
		}
	}
	return a
}
