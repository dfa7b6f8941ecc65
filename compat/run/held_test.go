package main

import (
	"errors"
	"net/http/httptest"
	"slices"
	"testing"
)

// TestHeldClock checks that the clock moves as requested, and keeps its time if the
// server does not follow.
func TestHeldClock(t *testing.T) {
	var moves []int64
	c := &clock{nowMs: heldStartMs, set: func(nowMs int64) error {
		if nowMs == heldStartMs+9250 {
			return errors.New("the server is gone")
		}
		moves = append(moves, nowMs-heldStartMs)
		return nil
	}}
	for _, tc := range []struct {
		path, want string
		code       int
	}{
		{"/now", "1800000000000", 200},
		{"/advance?ms=250", "1800000000250", 200},
		{"/advance?ms=0", "1800000000250", 200},
		{"/advance?ms=-1", "the clock goes forward only\n", 400},
		{"/advance?ms=9000", "the server is gone\n", 400},
		{"/advance", "strconv.ParseInt: parsing \"\": invalid syntax\n", 400},
		{"/now", "1800000000250", 200},
	} {
		answer := httptest.NewRecorder()
		c.handler().ServeHTTP(answer, httptest.NewRequest("GET", tc.path, nil))
		if answer.Code != tc.code || answer.Body.String() != tc.want {
			t.Errorf("%s: %d %q", tc.path, answer.Code, answer.Body)
		}
	}
	for range 2 {
		if err := c.align(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int64{250, 3_600_000, 7_200_000}; !slices.Equal(moves, want) {
		t.Errorf("moved to %v, want %v", moves, want)
	}
}
