package limiter

import "errors"

// Quota is one limit of a call: at most Limit units in any WindowMs
// milliseconds. Both are at least 1; see Validate for the other bounds.
type Quota struct {
	Limit    int64
	WindowMs int64
}

// longest returns the longest window.
func longest(quotas []Quota) int64 {
	windowMs := int64(0)
	for _, q := range quotas {
		windowMs = max(windowMs, q.WindowMs)
	}
	return windowMs
}

// What a call may ask for.
const (
	// DefaultMaxUnits is the default of the directive rl-log-max-units.
	DefaultMaxUnits int64 = 16_777_216
	// MaxCost is the largest cost of a call that can be admitted.
	MaxCost int64 = 1_000_000
	// MaxWindowMs is a hundred years of 365.25 days; windows lie below it.
	MaxWindowMs int64 = 36_525 * 86_400_000
)

// Errors of ParseWindow: the argument is no window.
var (
	ErrWindowSyntax = errors.New("limiter: window is not whole milliseconds or a whole number of ms, s, m, h or d")
	ErrWindowShort  = errors.New("limiter: window is below one millisecond")
	ErrWindowLong   = errors.New("limiter: window is not below a hundred years")
)

// Errors of Validate: the numbers do not make a call. It can also return
// ErrWindowShort and ErrWindowLong.
var (
	ErrNoQuota      = errors.New("limiter: no limit given")
	ErrLimit        = errors.New("limiter: limit is below one")
	ErrLimitUnits   = errors.New("limiter: limit is above the units a log may hold")
	ErrLimitWindow  = errors.New("limiter: limit is above the microseconds of its window")
	ErrCostNegative = errors.New("limiter: cost is negative")
	ErrCostLarge    = errors.New("limiter: cost is above 1,000,000 and could be admitted")
)

// ErrInstant is the error of Decide and Peek: the units to record would have
// scores outside of [MinScore, MaxScore), because the clock stands outside of
// 1973 to 2255, or so near the end that the run would cross it. Nothing
// changes.
var ErrInstant = errors.New("limiter: the clock is outside of what a log can hold")

// Validate checks a call of the LOG algorithm. Of several faults it reports the
// first in the order of the arguments: each quota's limit, window, then their
// relation; then the cost. maxUnits is rl-log-max-units.
//
// A limit above its window's microseconds is refused because a millisecond
// has 1,000 scores: such a log would run ahead of the clock for good. A cost
// above MaxCost is no error if it is above a limit: it is never admitted, and
// the decision says so.
func Validate(quotas []Quota, cost, maxUnits int64) error {
	if len(quotas) == 0 {
		return ErrNoQuota
	}
	fits := true
	for _, q := range quotas {
		switch {
		case q.Limit < 1:
			return ErrLimit
		case q.WindowMs < 1:
			return ErrWindowShort
		case q.WindowMs >= MaxWindowMs:
			return ErrWindowLong
		case q.Limit > maxUnits:
			return ErrLimitUnits
		case q.Limit > q.WindowMs*unitsPerMs:
			return ErrLimitWindow
		}
		fits = fits && cost <= q.Limit
	}
	switch {
	case cost < 0:
		return ErrCostNegative
	case cost > MaxCost && fits:
		return ErrCostLarge
	}
	return nil
}
