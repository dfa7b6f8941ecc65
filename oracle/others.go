package oracle

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
)

// othersVariable is the environment variable that names servers of other releases.
const othersVariable = "ORACLE_SERVERS"

// Others returns the servers of other releases, and of Valkey, that the environment variable ORACLE_SERVERS
// names, separated as in PATH. If there are none, the error says so.
func Others() ([]string, error) {
	list := filepath.SplitList(os.Getenv(othersVariable))
	if len(list) == 0 {
		return nil, errors.New("oracle: " + othersVariable + " names no servers of other releases")
	}
	for _, program := range list {
		if Release(program) == 0 {
			return nil, fmt.Errorf("oracle: %s: %q tells no version", othersVariable, program)
		}
	}
	return list, nil
}

var (
	versionNumber = regexp.MustCompile(` v=(\d+)\.(\d+)\.`)
	releases      sync.Map // of programs, so that each is asked once
)

// Release returns the release of a server in hundreds, 602 for 6.2, or 0 if the program does not tell it.
func Release(program string) int {
	if known, ok := releases.Load(program); ok {
		return known.(int)
	}
	out, err := exec.Command(program, "--version").Output()
	found := versionNumber.FindSubmatch(out)
	release := 0
	if err == nil && found != nil {
		major, _ := strconv.Atoi(string(found[1]))
		minor, _ := strconv.Atoi(string(found[2]))
		release = major*100 + minor
	}
	releases.Store(program, release)
	return release
}
