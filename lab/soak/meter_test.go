package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWithin: a leak of any kind is noticed.
func TestWithin(t *testing.T) {
	before := usage{descriptors: 12, goroutines: 20, used: 10 << 20, resident: 100 << 20}
	require.True(t, before.within(before))
	for _, leak := range []usage{
		{descriptors: 2}, {goroutines: 7}, {used: 2 << 20}, {resident: 20 << 20},
	} {
		after := before
		after.descriptors += leak.descriptors
		after.goroutines += leak.goroutines
		after.used += leak.used
		after.resident += leak.resident
		require.False(t, after.within(before), "%+v", leak)
	}
}
