package config_test

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/zlimit/zlimit/config"
)

// A command line has redis-server's syntax: later options win, and a directive may
// have several values.
func ExampleConfig_ParseArgs() {
	c := config.New()
	err := c.ParseArgs(strings.Fields("--bind 127.0.0.1 ::1 --port 7000 --proto-max-bulk-len 16mb"), nil)
	fmt.Println(err, c.Strings("bind"), c.Int("port"), c.Int("proto-max-bulk-len"))
	// Output: <nil> [127.0.0.1 ::1] 7000 16777216
}

// Report shows the operator an invalid line.
func ExampleFileError_Report() {
	err := config.New().ParseFile("zlimit.conf", strings.NewReader("port 7000\nactivedefrag yes\n"))
	var line *config.FileError
	if errors.As(err, &line) {
		fmt.Println(line.Report("0.1.0"))
	}
	// Output:
	// *** FATAL CONFIG FILE ERROR (zlimit 0.1.0) ***
	// Reading the configuration file, at line 2
	// >>> 'activedefrag yes'
	// zlimit is not compiled with Jemalloc: only no is accepted
}

// Set sets all values or none, and calls the OnChange functions of its views.
func ExampleConfig_Set() {
	c := config.New()
	c.View().OnChange("timeout", func() { fmt.Println("timeout is now", c.Int("timeout")) })
	set := func(words ...string) {
		pairs := make([][]byte, len(words))
		for i, word := range words {
			pairs[i] = []byte(word)
		}
		fmt.Println(c.Set(pairs))
	}
	set("timeout", "60")
	set("timeout", "90", "appendonly", "maybe")
	// Output:
	// timeout is now 60
	// <nil>
	// CONFIG SET failed (possibly related to argument 'appendonly') - argument must be 'yes' or 'no'
}

// Get returns a value under each of its names.
func ExampleConfig_Get() {
	match := func(pattern []byte, name string) bool {
		ok, _ := path.Match(string(pattern), name)
		return ok
	}
	for _, pair := range config.New().Get([][]byte{[]byte("TIMEOUT"), []byte("*-read-only")}, match) {
		fmt.Println(pair.Name, pair.Value)
	}
	// Output:
	// TIMEOUT 0
	// replica-read-only yes
	// slave-read-only yes
}
