package web

import (
	"errors"
	"net/http"

	"github.com/zlimit/zlimit/doors"
)

// auth answers GET /v1/auth, by which a proxy asks about a request of a client of its own.
//
// The proxy sends headers of that client, too, so what a header has is believed only if the query of
// /v1/auth, which the configuration of the proxy has, names it.
func (s *Server) auth(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		fail(w, r, http.StatusBadRequest, "a request of "+authPath+" has no body")
		return
	}
	request, cr, err := s.original(r)
	var wrong *proxyError
	switch {
	case errors.As(err, &wrong) && wrong.ofClient:
		fail(w, r, http.StatusBadRequest, wrong.text)
		return
	case err != nil:
		s.log.printf("%s: %s", authPath, err)
		fail(w, r, http.StatusInternalServerError, err.Error())
		return
	case len(request.Descriptors) == 0: // no limit applies
		writeText(w, http.StatusOK, "OK")
		return
	}
	var response doors.Response
	refuse := func(f *doors.Refusal) { s.refuseAuth(w, r, f) }
	request.Gone = r.Context().Done()
	ask := func(c doors.Client) error { return c.Decide(request, &response) }
	if !s.decide(cr, ask, refuse) {
		return
	}
	text := "OK"
	status := writeDecision(w.Header(), request.Domain, &response)
	if status != http.StatusOK {
		text = "too many requests"
	}
	writeText(w, status, text)
}

// refuseAuth answers a request that was refused. The reason is logged: proxies may show the answer to their
// clients.
func (s *Server) refuseAuth(w http.ResponseWriter, r *http.Request, f *doors.Refusal) {
	s.log.printf("%s: %s", authPath, f.Text)
	switch f.Reason {
	case doors.Unauthenticated:
		fail(w, r, http.StatusUnauthorized, "the proxy is not authenticated")
	case doors.Forbidden:
		fail(w, r, http.StatusForbidden, "the proxy may not do this")
	case doors.UnknownDomain, doors.Invalid:
		fail(w, r, http.StatusInternalServerError, "the request of the proxy is not valid")
	default:
		unavailable(w, r, "no decision can be made now")
	}
}

// original makes a request of what the proxy says about its client's.
func (s *Server) original(r *http.Request) (*doors.Request, *doors.Credentials, error) {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, nil, err
	}
	set := s.options.Policies()
	if set == nil {
		return nil, nil, misconfigured("no policies are loaded")
	}
	domain := set.Domain([]byte(q.domain))
	if domain == nil || !domain.MakesDescriptors() {
		return nil, nil, misconfigured("the domain %q has no rate_limits in the policies", q.domain)
	}
	o := origin{header: r.Header, query: q}
	cr := credentials(r)
	if q.credentials != "" {
		value, ok, err := o.one(q.credentials)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			return nil, nil, misconfigured("the proxy does not set %s", q.credentials)
		}
		cr.Authorization = value
	}
	made, err := domain.Descriptors(o.attributes())
	if err != nil {
		return nil, nil, err
	}
	request := &doors.Request{Domain: []byte(q.domain), Descriptors: make([]doors.Descriptor, len(made))}
	for i := range made {
		request.Descriptors[i].Entries = made[i].Entries
	}
	return request, &cr, nil
}
