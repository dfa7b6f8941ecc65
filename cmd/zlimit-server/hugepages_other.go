//go:build !linux

package main

// keepHuge is Linux' only: see hugepages_linux.go.
func keepHuge(<-chan struct{}) {}
