// Package proxies runs nginx, HAProxy and Caddy with the configurations of docs/front-doors.md, which it
// takes from that page, in front of a small server, and lets zlimit-server decide which requests they
// forward.
//
// Clients differ by their addresses on the loopback network. Limits are of a year, so that no window ends
// while a test runs. Tests wait for a port to answer, up to a deadline.
package proxies
