package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

// A placement assigns cores to the servers and the client.
type placement struct {
	taskset string // path of the program; empty if nothing is pinned
	server  int    // core of the measured server
	client  int    // core of this process
	note    string // why nothing is pinned, for the report
	spread  bool   // servers may use the client's core, too
}

// place chooses two of the cores that this process may use.
func place(cores []int, taskset string) placement {
	switch {
	case len(cores) < 2:
		return placement{note: "not pinned: one core only, shared by server and client; ratios are lower " +
			"bounds at best"}
	case taskset == "":
		return placement{note: "not pinned: taskset is not installed (Debian: util-linux)"}
	}
	return placement{taskset: taskset, server: cores[0], client: cores[1]}
}

// pinned reports whether servers and client have a core each.
func (p placement) pinned() bool { return p.taskset != "" }

// String returns the report's sentence.
func (p placement) String() string {
	if !p.pinned() {
		return p.note
	}
	return fmt.Sprintf("servers pinned to core %d in turn, client to core %d", p.server, p.client)
}

// locate finds the available cores.
func locate() (placement, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return placement{}, err
	}
	cores, err := parseCores(statusField(text, "Cpus_allowed_list"))
	if err != nil {
		return placement{}, err
	}
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		taskset = ""
	}
	return place(cores, taskset), nil
}

// command returns a program pinned to the servers' core. taskset replaces itself with
// the program, so the process id is the program's.
func (p placement) command(program string, args ...string) *exec.Cmd {
	if !p.pinned() {
		return exec.Command(program, args...)
	}
	on := strconv.Itoa(p.server)
	if p.spread {
		on += "," + strconv.Itoa(p.client)
	}
	return exec.Command(p.taskset, append([]string{"-c", on, program}, args...)...)
}

// pinSelf moves every thread of this process to the client's core. A thread starts on
// its parent's, so a second pass catches threads born during the first. Then it checks
// with the kernel.
func (p placement) pinSelf() error {
	if !p.pinned() {
		return nil
	}
	core := strconv.Itoa(p.client)
	for range 2 {
		pin := exec.Command(p.taskset, "-a", "-c", "-p", core, strconv.Itoa(os.Getpid()))
		out, err := pin.CombinedOutput()
		if err != nil {
			return fmt.Errorf("taskset: %w: %s", err, out)
		}
	}
	runtime.GOMAXPROCS(1)
	threads, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has ended
		}
		if on := statusField(text, "Cpus_allowed_list"); on != core {
			return fmt.Errorf("a thread of the client runs on cores %s, not on %s", on, core)
		}
	}
	return nil
}
