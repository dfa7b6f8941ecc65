// Package doors has what a proxy asks of zlimit and what it is answered, for the doors that let requests in
// by another protocol than Redis': doors/rls speaks Envoy's rate limit service. A Client turns a request into
// calls of RL.CHECK, by the engine's policies, or of RL.ALLOW.
//
// This package is internal to zlimit: it may change in any release.
package doors

import "github.com/zlimit/zlimit/policy"

type (
	// Entry is a key and its value.
	Entry = policy.Entry
	// Unit is the span of time of a limit.
	Unit = policy.Unit
	// Override is a limit that a request brings itself.
	Override = policy.Override
)

// A Descriptor is what one limit is looked up for.
type Descriptor struct {
	Entries  []Entry
	Override *Override
	Hits     *uint64 // in the place of the request's, if it is not nil
}

// A Request asks for a decision about all of its descriptors.
type Request struct {
	Domain      []byte
	Descriptors []Descriptor
	Hits        uint32 // 0 is 1
	// Gone is closed when nobody waits for the decision any more, which CLIENT PAUSE may postpone. If it is
	// nil, somebody always does.
	Gone <-chan struct{}
}

// A Code says whether a descriptor, or a request, is within its limits.
type Code uint8

// The codes, numbered as in Envoy's RateLimitResponse.Code.
const (
	UnknownCode Code = iota
	OK
	OverLimit
)

// A Limit is the limit of the policy that a descriptor matched.
type Limit struct {
	Name     string // "" for a limit without a name
	Requests uint32
	Unit     Unit
}

// A Status is the decision about one descriptor.
type Status struct {
	Code         Code
	HasLimit     bool // a policy with a limit matched
	Limit        Limit
	Remaining    uint32
	ResetSeconds int64 // until the window ends; shown if HasLimit and HasReset
	RetryMs      int64 // until as many hits are admitted, if nobody else asks; -1: never, 0: they are
	HasReset     bool
	Quota        bool // the limit is in quota mode
	QuotaOver    bool // and would have denied: reported in the metadata, the Code is OK
}

// A Response is the decision about a request. Statuses has one for each descriptor, in their order; its
// memory is reused by the next decision of the same client.
type Response struct {
	Code     Code
	Statuses []Status
	// Binding is the status that headers show: that of the limit that denied last, or else the one with the
	// least remaining; -1 if none has a limit.
	Binding int
}

// A Reason says why no decision was made.
type Reason uint8

// The reasons.
const (
	Invalid         Reason = iota // the request has no domain, no descriptor, or too many
	Unauthenticated               // the credentials are wrong, or missing
	Forbidden                     // the user may not decide in this domain
	UnknownDomain                 // refused by rl-policy-unknown-domain
	Unavailable                   // loading, out of memory, disk errors, no upstream
)

// A Refusal is the error of a request that was not decided.
type Refusal struct {
	Reason Reason
	Text   string
}

// Error returns the text that the peer is sent.
func (r *Refusal) Error() string { return r.Text }

// A Client decides for one peer at a time. It is not safe for concurrent use.
type Client interface {
	// Decide fills response with the decision about request. An error is a *Refusal.
	// What request refers to must not change until Decide returns.
	Decide(request *Request, response *Response) error
	// Allow does the same about a key.
	Allow(request *KeyRequest, decision *KeyDecision) error
	// Close releases what the client holds.
	Close()
}

// Credentials is what a peer has shown: the value of its Authorization header, and the common name of its
// certificate. Either may be "".
type Credentials struct {
	Authorization string
	CommonName    string
	Addr          string // the peer's address, for logs and CLIENT LIST
}

// Login returns a client for credentials, or a *Refusal.
type Login func(Credentials) (Client, error)
