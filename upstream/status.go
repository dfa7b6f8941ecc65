package upstream

import "sync/atomic"

// counts are what INFO shows.
type counts struct {
	errors    atomic.Int64 // calls that failed since the upstream did not answer
	full      atomic.Int64 // commands refused by a full queue
	redirects atomic.Int64
	scripts   atomic.Int64 // scripts that were sent again
	libraries atomic.Int64 // loadings of the library of functions
	degraded  atomic.Int64 // decisions that were answered without the upstream
}
