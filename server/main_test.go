package server_test

import (
	"flag"
	"log"
	"os"
	"runtime/debug"
	"testing"

	"github.com/zlimit/zlimit/server"
)

// fed runs the tests as on systems whose poller is not known here.
var fed = flag.Bool("fed", false, "goroutines read and write every connection")

// TestMain runs more tests side by side than there are processors: most of them wait for other processes. It
// collects garbage less often than by default, since most of that is hundreds of small servers.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if err := flag.Set("test.parallel", "16"); err != nil {
		log.Fatal(err)
	}
	flag.Parse()
	if *fed {
		server.FeedAll()
	}
	os.Exit(m.Run())
}
