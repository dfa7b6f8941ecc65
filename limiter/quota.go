package limiter

import (
	"errors"

	"github.com/zlimit/zlimit/calendar"
)

// Quota is one limit of a call: at most Limit units in any WindowMs milliseconds. A
// limit of 0 denies every call. See Validate for the bounds.
type Quota struct {
	Limit    int64
	WindowMs int64
	// Calendar is not nil if the window is a slice of a calendar: that which contains the
	// instant of the call. WindowMs is 0 then. Only FIXED has such windows.
	Calendar *calendar.Calendar
}

// slice returns the slice of time that contains an instant: of the calendar, or of
// WindowMs milliseconds aligned to the epoch.
func (q Quota) slice(nowMs int64) (startMs, endMs int64) {
	if q.Calendar != nil {
		return q.Calendar.Slice(nowMs)
	}
	startMs = floor(nowMs, q.WindowMs)
	return startMs, add(startMs, q.WindowMs)
}

// growsAfter returns how many of the used units must leave before Remaining grows: at least
// 1, and one more than the excess over a lowered limit. It returns 0 if Remaining does not grow.
func (q Quota) growsAfter(used int64) int64 {
	if used == 0 || q.Limit == 0 {
		return 0
	}
	return max(1, used-q.Limit+1)
}

// longest returns the longest window.
func longest(quotas []Quota) int64 {
	windowMs := int64(0)
	for _, q := range quotas {
		windowMs = max(windowMs, q.WindowMs)
	}
	return windowMs
}

// Bounds of a call.
const (
	// MaxUnits is the largest limit of a log, and the most units that a log holds:
	// 2^53-1, the largest integer that every client and script can count to.
	MaxUnits int64 = 1<<53 - 1
	// DefaultMaxEntries is the default of the directive rl-log-max-units.
	DefaultMaxEntries int64 = 16_777_216
	// MaxWindowMs is a hundred years of 365.25 days. Windows are below it.
	MaxWindowMs int64 = 36_525 * 86_400_000
	// MaxQuotas is the maximum number of quotas in a call of RL.ALLOW.
	MaxQuotas = 16
	// MaxBuckets is the maximum number of buckets of BUCKETS.
	MaxBuckets = 1000
)

// Errors of ParseWindow.
var (
	ErrWindowSyntax = errors.New("limiter: window is not whole milliseconds or a whole number of ms, s, m, " +
		"h or d")
	ErrWindowShort = errors.New("limiter: window is below one millisecond")
	ErrWindowLong  = errors.New("limiter: window is not below a hundred years")
)

// Errors of the Validate functions, which can also return ErrWindowShort and
// ErrWindowLong.
var (
	ErrNoQuota      = errors.New("limiter: no limit given")
	ErrLimit        = errors.New("limiter: limit is negative")
	ErrLimitLarge   = errors.New("limiter: limit is above 2^53-1")
	ErrCostNegative = errors.New("limiter: cost is negative")
	ErrBurst        = errors.New("limiter: burst is negative")
	ErrBurstLong    = errors.New("limiter: burst takes a hundred years to fill")
	ErrBuckets      = errors.New("limiter: buckets are not from 1 to 1,000")
	ErrCalendar     = errors.New("limiter: a window of the calendar goes with FIXED only")
)

// Errors of Decide, Peek and the functions Record. Nothing changes.
var (
	// ErrInstant is for an entry whose score would be outside of [MinScore, MaxScore): the
	// clock is outside of 1973 to 2255.
	ErrInstant = errors.New("limiter: the clock is outside of what a log can hold")
	// ErrSum is for units that a log would hold beyond MaxUnits, those included that no
	// window counts any more but that the key still keeps.
	ErrSum = errors.New("limiter: the units of a log would pass 2^53-1")
	// ErrLong is for units under GCRA that would take a hundred years to gain again.
	ErrLong = errors.New("limiter: the units would count for a hundred years")
)

// Validate checks a call of the LOG algorithm. It reports the first fault in the order
// of the arguments: each quota's limit, then its window; then the cost. A cost above a
// limit is no error: it is never admitted, and the decision says so.
func Validate(quotas []Quota, call Call) error {
	if len(quotas) == 0 {
		return ErrNoQuota
	}
	for _, q := range quotas {
		if err := q.check(); err != nil {
			return err
		}
		if q.Calendar != nil {
			return ErrCalendar
		}
		if q.Limit > MaxUnits {
			return ErrLimitLarge
		}
	}
	if call.Cost < 0 {
		return ErrCostNegative
	}
	return nil
}

// ValidateQuota checks a call of an algorithm that takes one quota, other than FIXED.
func ValidateQuota(q Quota, call Call) error {
	if err := ValidateFixed(q, call); err != nil {
		return err
	}
	if q.Calendar != nil {
		return ErrCalendar
	}
	return nil
}

// ValidateFixed checks a call of FIXED.
func ValidateFixed(q Quota, call Call) error {
	if err := q.check(); err != nil {
		return err
	}
	if call.Cost < 0 {
		return ErrCostNegative
	}
	return nil
}

// ValidateQuotas checks a call of an algorithm that is not known yet: what every
// algorithm refuses of each quota.
func ValidateQuotas(quotas []Quota, call Call) error {
	for _, q := range quotas {
		if err := ValidateFixed(q, call); err != nil {
			return err
		}
	}
	return nil
}

// ValidateBurst checks the burst of GCRA for a valid quota. Below a hundred years no
// step of the algorithm overflows. A burst of 0 denies every call.
func ValidateBurst(q Quota, burst int64) error {
	switch {
	case burst < 0:
		return ErrBurst
	case q.Capacity(burst) >= ceil(MaxWindowMs*usPerMs, q.Interval()):
		return ErrBurstLong
	}
	return nil
}

// ValidateBuckets checks the number of buckets of BUCKETS.
func ValidateBuckets(n int64) error {
	if n < 1 || n > MaxBuckets {
		return ErrBuckets
	}
	return nil
}

func (q Quota) check() error {
	switch {
	case q.Limit < 0:
		return ErrLimit
	case q.Calendar != nil:
		return nil
	case q.WindowMs < 1:
		return ErrWindowShort
	case q.WindowMs >= MaxWindowMs:
		return ErrWindowLong
	}
	return nil
}
