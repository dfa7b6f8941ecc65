package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/policy"
)

// A proxyError says why nothing can be decided about the request of a proxy's client.
type proxyError struct {
	text     string
	ofClient bool // the client has caused it; otherwise the configuration is wrong
}

// Error returns the text.
func (e *proxyError) Error() string { return e.text }

func misconfigured(format string, args ...any) error {
	return &proxyError{text: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return &proxyError{fmt.Sprintf(format, args...), true}
}

// A query is what the configuration of a proxy says about it: the domain, and the names of the headers that
// may be believed, in lower case.
type query struct {
	domain      string
	method      string   // of the client's request
	uri         string   // of the client's request
	address     string   // of the client
	credentials string   // of the proxy, as Authorization has them
	headers     []string // that the policies may use
}

// parseQuery reads the query of /v1/auth. Parameters that are unknown, empty or given twice are errors.
func parseQuery(raw string) (*query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, misconfigured("the query of %s is not valid", authPath)
	}
	var q query
	var headers string
	parameters := map[string]*string{
		"domain": &q.domain, "method": &q.method, "uri": &q.uri, "address": &q.address,
		"credentials": &q.credentials, "headers": &headers,
	}
	for name, given := range values {
		into := parameters[name]
		if into == nil {
			return nil, misconfigured("the query of %s has the unknown parameter %q", authPath, name)
		}
		if len(given) != 1 || given[0] == "" {
			return nil, misconfigured("the parameter %s of %s needs one value", name, authPath)
		}
		if *into = given[0]; name != "domain" {
			*into = strings.ToLower(given[0])
		}
	}
	if q.domain == "" {
		return nil, misconfigured("the query of %s needs domain", authPath)
	}
	if headers != "" {
		q.headers = strings.Split(headers, ",")
	}
	if slices.Contains(q.headers, "host") {
		return nil, misconfigured("headers cannot have host: let the proxy set X-Forwarded-Host")
	}
	return &q, nil
}

// An origin is what is known of a client's request.
type origin struct {
	header http.Header
	query  *query
}

func (o *origin) attributes() *policy.Attributes {
	return &policy.Attributes{Header: o.headerOf, Address: o.address}
}

// one returns the value of a header. Several are an error: which one the proxy has set is not
// known.
func (o *origin) one(name string) (value string, ok bool, err error) {
	values := o.header[textproto.CanonicalMIMEHeaderKey(name)]
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	}
	return "", false, badRequest("the header %s is given more than once", name)
}

// set returns the value of a header that the proxy sets in each request. parameter names it; what says what
// it has.
func (o *origin) set(name, parameter, what string) (string, error) {
	if name == "" {
		return "", misconfigured("the policies use %s, and the query of %s does not say which header has "+
			"it: %s=HEADER", what, authPath, parameter)
	}
	value, ok, err := o.one(name)
	if err == nil && !ok {
		err = badRequest("the header %s is missing", name)
	}
	return value, err
}

// headerOf is policy.Attributes.Header.
func (o *origin) headerOf(name string) (value string, ok bool, err error) {
	switch {
	case name == ":method":
		value, err = o.set(o.query.method, "method", "the method")
		if err == nil && !isMethod(value) {
			err = badRequest("the method is not valid")
		}
		return value, err == nil, err
	case name == ":path":
		value, err = o.set(o.query.uri, "uri", "the path")
		if err == nil {
			value, err = cleanPath(value)
		}
		return value, err == nil, err
	case !slices.Contains(o.query.headers, name):
		return "", false, misconfigured("the policies use the header %s, and the query of %s does not have "+
			"it in headers", name, authPath)
	}
	return o.one(name)
}

// address is policy.Attributes.Address. Of a list, as X-Forwarded-For has it, the last element counts: the
// proxy has added that.
func (o *origin) address() (string, error) {
	value, err := o.set(o.query.address, "address", "the client's address")
	if err != nil {
		return "", err
	}
	value = strings.TrimSpace(value[strings.LastIndexByte(value, ',')+1:])
	address, err := netip.ParseAddr(value)
	if err != nil {
		withPort, err := netip.ParseAddrPort(value)
		if err != nil {
			return "", badRequest("the header %s does not end with an address", o.query.address)
		}
		address = withPort.Addr()
	}
	return address.Unmap().WithZone("").String(), nil
}

// isMethod reports whether a method consists of upper-case letters and is not long.
func isMethod(method string) bool {
	return len(method) <= 32 && strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == "" && method != ""
}

// cleanPath returns the path of a URI, without its query. Escapes are decoded, and empty, . and .. elements
// are resolved, so that a client cannot choose among descriptors by other spellings of one path.
func cleanPath(uri string) (string, error) {
	uri, _, _ = strings.Cut(uri, "#")
	uri, _, _ = strings.Cut(uri, "?")
	if uri == "*" {
		return uri, nil
	}
	if scheme, rest, absolute := strings.Cut(uri, "://"); absolute && !strings.Contains(scheme, "/") {
		_, rest, _ = strings.Cut(rest, "/")
		uri = "/" + rest
	}
	decoded, err := url.PathUnescape(uri)
	if err != nil || !strings.HasPrefix(decoded, "/") {
		return "", badRequest("the path is not valid")
	}
	cleaned := path.Clean(decoded)
	if cleaned != "/" && (strings.HasSuffix(decoded, "/") || strings.HasSuffix(decoded, "/.") ||
		strings.HasSuffix(decoded, "/..")) {
		cleaned += "/"
	}
	return cleaned, nil
}
