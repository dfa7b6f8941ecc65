// Package luatest generates Lua programs for tests and runs sources in Debian's lua5.1, the reference for
// the semantics of Lua 5.1.
//
// It is for tests only, and it does not know how the engine under test works: a program is a source, and
// its result is one text.
//
// This package is internal to zlimit: it may change in any release.
package luatest
