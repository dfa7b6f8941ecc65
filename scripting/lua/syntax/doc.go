// Package syntax reads Lua 5.1: lexer.go splits a source into tokens, parser*.go build the tree of package
// ast with Lua's limits and error texts, and numeral.go reads numbers, as tonumber does too.
//
// This package is internal to zlimit: it may change in any release.
package syntax
