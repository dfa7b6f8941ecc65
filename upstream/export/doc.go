// Package export moves the keys of a server, or of a cluster, to another while clients go on.
//
// Keys are copied with DUMP and RESTORE, which keep every value and the instant at which it ends, so windows
// go on. Meanwhile the source names every key that changes (CLIENT TRACKING in its broadcasting mode), and
// those are copied again, until few are left. Then the source's writes pause, the last keys are copied, and
// the source is fenced: it refuses all further writes. What has changed until it did is copied last. So the
// destination has all that the source ever admitted, and no caller is admitted by both.
//
// Source and destination may be zlimit or Redis, 7.0 or later, a single server or a cluster.
//
// This package is internal to zlimit: it may change in any release.
package export
