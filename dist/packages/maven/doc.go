// Package maven makes the artifacts of the Java package, in the layout of a Maven repository:
// the jar with the code, built by Maven, and a jar for each platform with the server's binary.
// The same source gives the same bytes.
package maven
