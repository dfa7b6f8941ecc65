//go:build !linux

package poll

import "testing"

func systemPoller(*testing.T, func(t *testing.T, p Poller, ready func())) {}
