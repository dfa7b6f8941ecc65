// Package page serves a page for operators: one HTML file without outside resources, and
// the data that its script asks for.
//
// The data are replies to commands that read (see reading), run by a session of the user
// whose name and password the browser gives. The page shows no more than that user can
// read with redis-cli, and no route changes anything. Without a viewer nothing runs but a
// sample of a few figures each second. See
// docs/adr/0042.
//
// This package is internal to zlimit: it may change in any release.
package page
