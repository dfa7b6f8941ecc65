//go:build benchprofile

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

// This file is only in programs built with the tag benchprofile, as go run ./bench
// --profile builds one for itself. Others have no profiler, and nothing that a client or
// an operator could switch on.

// init lets the process write a CPU profile from each SIGUSR1 to the next SIGUSR2, to
// the file that the environment names, with a number added: .0, .1, and so on.
func init() {
	name := os.Getenv("ZLIMIT_CPU_PROFILE")
	if name == "" {
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for i := 0; ; i++ {
			if err := profile(fmt.Sprintf("%s.%d", name, i), signals); err != nil {
				fmt.Fprintln(os.Stderr, "zlimit-server: profile:", err)
				return
			}
		}
	}()
}

// profile writes one profile, and gives the file its name when it is complete.
func profile(name string, signals <-chan os.Signal) error {
	if s := <-signals; s != syscall.SIGUSR1 {
		return fmt.Errorf("%v before a profile has begun", s)
	}
	partial := name + ".part"
	f, err := os.Create(partial)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	<-signals
	pprof.StopCPUProfile()
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(partial, name)
}
