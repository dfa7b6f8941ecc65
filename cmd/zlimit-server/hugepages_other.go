//go:build !linux

package main

// keepHuge does nothing except on Linux: see hugepages_linux.go.
func keepHuge(<-chan struct{}) {}
