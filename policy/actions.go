package policy

// Bounds of a domain's rate_limits.
const (
	maxRateLimits = 64
	maxActions    = MaxEntries // of one of rate_limits; each makes one entry
)

// Attributes are what the actions of a domain find in a request.
type Attributes struct {
	// Header returns the value of a header, whose name is in lower case. :method and :path are headers too.
	// ok is false if the request does not have it.
	Header func(name string) (value string, ok bool, err error)
	// Address returns the address of the client.
	Address func() (string, error)
}

// An action makes an entry of a descriptor. Exactly one of its parts is set.
type action struct {
	generic *genericKey
	header  *requestHeader
	address bool
}

type (
	genericKey    struct{ key, value string }
	requestHeader struct {
		name, key    string
		skipIfAbsent bool
	}
)

// MakesDescriptors reports whether the domain has rate_limits.
func (d *Domain) MakesDescriptors() bool { return len(d.rateLimits) > 0 }

// Descriptors returns what the rate_limits of the domain make of a request: each one descriptor, in their
// order. One that needs a header that the request does not have makes none. An error is one of a.
func (d *Domain) Descriptors(a *Attributes) (all []Descriptor, err error) {
	for _, actions := range d.rateLimits {
		entries, err := entriesOf(actions, a)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			all = append(all, Descriptor{Entries: entries, Hits: 1})
		}
	}
	return all, nil
}

// entriesOf returns the entries of a descriptor, or nil if it is not made.
func entriesOf(actions []action, a *Attributes) ([]Entry, error) {
	entries := make([]Entry, 0, len(actions))
	for i := range actions {
		switch do := &actions[i]; {
		case do.generic != nil:
			entries = append(entries, Entry{[]byte(do.generic.key), []byte(do.generic.value)})
		case do.header != nil:
			value, ok, err := a.Header(do.header.name)
			switch {
			case err != nil:
				return nil, err
			case ok:
				entries = append(entries, Entry{[]byte(do.header.key), []byte(value)})
			case !do.header.skipIfAbsent:
				return nil, nil
			}
		default:
			address, err := a.Address()
			if err != nil {
				return nil, err
			}
			entries = append(entries, Entry{[]byte(remoteAddress), []byte(address)})
		}
	}
	return entries, nil
}

// remoteAddress is an action, and the key of the entry that it makes.
const remoteAddress = "remote_address"

// What a file has of rate_limits.
type (
	actionsFields struct {
		line    int
		actions []actionFields
	}
	actionFields struct {
		line   int
		action action
		given  int // actions that it has
	}
)

var (
	actionsTable = table[actionsFields]{
		"actions": list(&actionTable, "an action", func(f *actionsFields, a actionFields, line int) {
			a.line = line
			f.actions = append(f.actions, a)
		}),
	}
	actionTable = table[actionFields]{
		"generic_key": mapping(&genericTable, "generic_key", func(f *actionFields, g genericKey, _ int) {
			f.action.generic = &g
			f.given++
		}),
		"request_headers": mapping(&headerTable, "request_headers",
			func(f *actionFields, h requestHeader, _ int) {
				f.action.header = &h
				f.given++
			}),
		remoteAddress: mapping(&addressTable, remoteAddress, func(f *actionFields, _ struct{}, _ int) {
			f.action.address = true
			f.given++
		}),
	}
	genericTable = table[genericKey]{
		"descriptor_key":   text(func(g *genericKey) *string { return &g.key }),
		"descriptor_value": text(func(g *genericKey) *string { return &g.value }),
	}
	headerTable = table[requestHeader]{
		"header_name":    text(func(h *requestHeader) *string { return &h.name }),
		"descriptor_key": text(func(h *requestHeader) *string { return &h.key }),
		"skip_if_absent": flag(func(h *requestHeader) *bool { return &h.skipIfAbsent }),
	}
	addressTable = table[struct{}]{}
)

// addRateLimits adds the rate_limits of a document.
func (r *reader) addRateLimits(d *Domain, in []actionsFields) error {
	if len(in) > maxRateLimits {
		return r.errorf(in[maxRateLimits].line, "rate_limits has more than %d entries", maxRateLimits)
	}
	for _, one := range in {
		switch {
		case len(one.actions) == 0:
			return r.errorf(one.line, "an entry of rate_limits needs actions")
		case len(one.actions) > maxActions:
			return r.errorf(one.actions[maxActions].line, "an entry of rate_limits has more than %d actions",
				maxActions)
		}
		actions := make([]action, len(one.actions))
		for i := range one.actions {
			if err := r.checkAction(&one.actions[i]); err != nil {
				return err
			}
			actions[i] = one.actions[i].action
		}
		d.rateLimits = append(d.rateLimits, actions)
	}
	return nil
}

// checkAction fails if an action is not complete, and sets what may be left out.
func (r *reader) checkAction(in *actionFields) error {
	g, h := in.action.generic, in.action.header
	switch {
	case in.given != 1:
		return r.errorf(in.line,
			"an action is one of generic_key, request_headers and remote_address, not %d", in.given)
	case g != nil && g.value == "":
		return r.errorf(in.line, "generic_key needs descriptor_value")
	case g != nil && g.key == "":
		g.key = "generic_key"
	case h != nil && (h.name == "" || h.key == ""):
		return r.errorf(in.line, "request_headers needs header_name and descriptor_key")
	case h != nil && !lowerName(h):
		return r.errorf(in.line, "'%s' is not the name of a header, nor :method or :path", h.name)
	}
	return nil
}

// lowerName makes the name of a header lower case, and reports whether it may be one.
func lowerName(h *requestHeader) bool {
	name := []byte(h.name)
	for i, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			name[i] = c + 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		case i == 0 && (h.name == ":method" || h.name == ":path"):
		default:
			return false
		}
	}
	h.name = string(name)
	return true
}
