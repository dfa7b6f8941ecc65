// Package embed contains only tests. They show zlimit in Go programs and tests, with libraries that those
// use. It is a separate module so that zlimit does not depend on these libraries. `make compat` runs it.
//
// The folders before and after contain the same test file, written for alicebob/miniredis; the copies differ
// only in the import.
package embed
