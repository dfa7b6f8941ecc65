// Package embed is empty: its tests show zlimit inside of Go programs and tests,
// with the libraries that those use. It is a module of its own so that zlimit
// does not depend on them. `make compat` runs it.
//
// The folders before and after hold one test file twice, written for
// alicebob/miniredis; they differ in the import alone.
package embed
