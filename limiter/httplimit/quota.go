package httplimit

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Quota is the limit that applies to a request, and the request's cost.
type Quota struct {
	// Name is the name of the policy in headers: printable ASCII. Empty: "default".
	Name string
	// Limit is the number of units per window, from 1 to 999,999,999,999,999; backends may have lower bounds.
	// The 0 of a quota that QuotaFor returns denies every request, without asking the backend.
	Limit int64
	// Window is a whole number of milliseconds, at least one. It may be absent if Limit is 0.
	Window time.Duration
	// Cost is the number of units of the request; 0 is 1.
	Cost int64
}

// ErrQuota is the error of an invalid quota, by which no request can be decided. A Backend that returns it
// denies the request.
var ErrQuota = errors.New("httplimit: invalid quota")

// Errors of check and checkFixed.
var (
	errName   = fmt.Errorf("%w: Name is not printable ASCII", ErrQuota)
	errLimit  = fmt.Errorf("%w: Limit is not from 1 to 999,999,999,999,999", ErrQuota)
	errWindow = fmt.Errorf("%w: Window is not a whole number of milliseconds, at least one", ErrQuota)
	errCost   = fmt.Errorf("%w: Cost is below 0", ErrQuota)
	errNever  = fmt.Errorf("%w: Cost is above Limit, so that no request would be admitted", ErrQuota)
)

// maxInteger is the largest integer of a structured field.
const maxInteger = 999_999_999_999_999

// name returns the name of the policy in headers and logs.
func (q Quota) name() string {
	if q.Name == "" {
		return "default"
	}
	return q.Name
}

// check returns what is wrong with a quota whose Limit may be 0.
func (q Quota) check() error {
	for _, c := range []byte(q.Name) {
		if c < 0x20 || c > 0x7e {
			return errName
		}
	}
	switch {
	case q.Limit < 0 || q.Limit > maxInteger:
		return errLimit
	case q.Cost < 0:
		return errCost
	case q.Limit > 0 && (q.Window < time.Millisecond || q.Window%time.Millisecond != 0):
		return errWindow
	}
	return nil
}

// checkFixed returns why no request can be admitted by a quota that does not depend on the request.
func (q Quota) checkFixed(b Backend) error {
	if err := q.check(); err != nil {
		return err
	}
	switch {
	case q.Limit == 0:
		return errLimit
	case q.Cost > q.Limit:
		return errNever
	}
	if c, ok := b.(Checker); ok {
		if err := c.Check(q); err != nil && refusesQuota(err) {
			return err
		}
	}
	return nil
}

// quotaReplies are in the error replies of a server to a quota that it cannot decide.
var quotaReplies = [...]string{
	"ERR limit must ", "ERR window must ", "ERR COST must ", "ERR the call can add ",
}

// refusesQuota reports whether a backend has answered that it cannot decide a quota.
func refusesQuota(err error) bool {
	if errors.Is(err, ErrQuota) {
		return true
	}
	text := err.Error()
	for _, reply := range quotaReplies {
		if strings.Contains(text, reply) {
			return true
		}
	}
	return false
}
