// Package abuse has what a hostile or careless peer does to a server, as rows of one
// table, and measures what others notice of it. Its tests run each row against a
// server of this process, for a short time, and check what is deterministic: the limit
// that ends the abuse, what is counted, and what is given back. The program lab/abuse/measure
// runs the rows for longer, against this server and redis-server, and compares
// latencies.
//
// A row knows nothing of the server but its address and the protocol. It neither starts
// servers nor decides how long it runs.
//
// This package is internal to zlimit: it may change in any release.
package abuse
