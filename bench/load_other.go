//go:build !linux

package main

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

var errLinuxOnly = errors.New("bench runs on Linux only: it reads /proc and drives the connections with " +
	"epoll")

func (l *load) run(context.Context) (*tally, error) { return nil, errLinuxOnly }

// A sink needs Linux, too.
type sink struct{ took time.Duration }

func attach(string) (*sink, error) { return nil, errLinuxOnly }

func (*sink) follow(context.Context) error { return errLinuxOnly }

func (*sink) phase(time.Duration) (phase, error) { return over, errLinuxOnly }

func (*sink) shut() {}

func tie(*exec.Cmd) {}

func processClock(int) (time.Duration, bool) { return 0, false }
