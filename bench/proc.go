package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc: Linux reports them to user space in
// hundredths of a second (USER_HZ) on every architecture that Go runs on.
const tick = time.Second / 100

var errProcStat = errors.New("not the format of proc(5)")

// processUse is what a process had used at an instant.
type processUse struct {
	cpu time.Duration // user and system time of all threads
	rss int64         // bytes
}

// readProcess reads the process' clock, which is more exact than /proc, and the pages that it has in memory.
func readProcess(pid int) (use processUse, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return use, err
	}
	var size, resident int64
	_, err = fmt.Sscan(string(text), &size, &resident)
	use.rss = resident * int64(os.Getpagesize())
	var ok bool
	if use.cpu, ok = processClock(pid); !ok {
		err = errors.Join(err, fmt.Errorf("process %d has no clock", pid))
	}
	return use, err
}

// coreUse is what had become of a core's time at an instant.
type coreUse struct {
	busy   time.Duration // by processes: user, nice and system
	stolen time.Duration // by the hypervisor, for other guests
}

// allCores names the sum of all cores in parseCoreStat.
const allCores = -1

// parseCoreStat finds a core in /proc/stat.
func parseCoreStat(text []byte, core int) (coreUse, error) {
	name := "cpu"
	if core != allCores {
		name = fmt.Sprintf("cpu%d", core)
	}
	const user, system, steal = 1, 3, 8
	for l := range strings.Lines(string(text)) {
		fields := strings.Fields(l)
		if len(fields) <= steal || fields[0] != name {
			continue
		}
		var use coreUse
		for i, field := range fields[user : steal+1] {
			v, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return coreUse{}, fmt.Errorf("%w: %w", errProcStat, err)
			}
			switch i + user {
			case user, user + 1, system:
				use.busy += time.Duration(v) * tick
			case steal:
				use.stolen = time.Duration(v) * tick
			}
		}
		return use, nil
	}
	return coreUse{}, fmt.Errorf("%w: no line for %s", errProcStat, name)
}

func readCore(core int) (coreUse, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return coreUse{}, err
	}
	return parseCoreStat(text, core)
}

// parseCores parses a list of cores in the kernel's form: "0-2,5".
func parseCores(list string) ([]int, error) {
	var cores []int
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err := strconv.Atoi(low)
		if err != nil {
			return nil, fmt.Errorf("list of cores %q: %w", list, err)
		}
		to, err := strconv.Atoi(high)
		if err != nil {
			return nil, fmt.Errorf("list of cores %q: %w", list, err)
		}
		for core := from; core <= to; core++ {
			cores = append(cores, core)
		}
	}
	return cores, nil
}

// statusField returns a field of the text of /proc/PID/status, "" if absent.
func statusField(text []byte, name string) string {
	for l := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(l, name+":"); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
