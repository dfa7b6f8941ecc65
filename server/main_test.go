package server_test

import (
	"flag"
	"log"
	"os"
	"testing"
)

// TestMain runs more tests side by side than there are processors: most of them wait for other processes.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "16"); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}
