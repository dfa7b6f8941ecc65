package main

import (
	"errors"
	"net/http/httptest"
	"slices"
	"testing"
)

// The clock moves by what it was asked, and stays where it is when the server did not follow.
func TestHeldClock(t *testing.T) {
	var moves []int64
	clock := heldClock(func(nowMs int64) error {
		if nowMs > heldStartMs+1000 {
			return errors.New("the server is gone")
		}
		moves = append(moves, nowMs-heldStartMs)
		return nil
	})
	for _, c := range []struct {
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
		clock.ServeHTTP(answer, httptest.NewRequest("GET", c.path, nil))
		if answer.Code != c.code || answer.Body.String() != c.want {
			t.Errorf("%s: %d %q", c.path, answer.Code, answer.Body)
		}
	}
	if want := []int64{250, 250}; !slices.Equal(moves, want) {
		t.Errorf("moved to %v, want %v", moves, want)
	}
}
