package zlimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/limiter/httplimit"
	"github.com/zlimit/zlimit/limiter/httplimit/inprocess"
	"github.com/zlimit/zlimit/zlimittest"
)

// The README's examples in Go.

func TestReadmeInAProgram(t *testing.T) {
	ctx := context.Background()
	limits := zlimit.New(zlimit.Options{})
	defer limits.Close()
	d, err := limits.Allow(ctx, "user:42", zlimit.Quota{Limit: 100, Window: time.Minute}, 1)
	if err == nil && !d.OK() {
		fmt.Println("try again in", d.RetryAfter)
	}
	require.NoError(t, err)
	require.Equal(t, int64(99), d.Remaining)

	mux := http.NewServeMux()
	limit := httplimit.New(httplimit.Options{
		Backend: inprocess.Backend(limits), // or httplimit.Commands of a Redis client
		Quota:   httplimit.Quota{Name: "per-address", Limit: 100, Window: time.Minute},
		OnError: httplimit.FailOpen,
	})
	handler := limit(mux)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	require.Equal(t, `"per-address";r=99;t=60`, w.Header().Get("RateLimit"))
}

func TestReadmeInTests(t *testing.T) {
	srv := zlimittest.RunT(t)
	srv.Freeze()
	for range 3 {
		srv.Do("RL.ALLOW", "user:42", 3, "1m") // or a Redis client at srv.Addr()
	}
	srv.Advance(time.Minute - time.Millisecond)
	denied := srv.Allow("user:42", zlimit.Quota{Limit: 3, Window: time.Minute}, 1)
	srv.Advance(time.Millisecond)
	admitted := srv.Allow("user:42", zlimit.Quota{Limit: 3, Window: time.Minute}, 1)
	require.Equal(t, []bool{false, true}, []bool{denied.OK(), admitted.OK()})
}

// quoted matches a block of a page that names its file.
var quoted = regexp.MustCompile("(?s)<!-- (\\S+\\.\\S+) -->\n```\\w+\n(.*?)```\n")

// missing returns the blocks of a page that are not in the named file.
func missing(page string, read func(name string) string) (blocks []string, found int) {
	for _, m := range quoted.FindAllStringSubmatch(page, -1) {
		if found++; !strings.Contains(read(m[1]), m[2]) {
			blocks = append(blocks, m[1]+"\n"+m[2])
		}
	}
	return blocks, found
}

// TestReadmeBlocksAreInTheirFiles compares the code blocks of pages with the files that run it.
func TestReadmeBlocksAreInTheirFiles(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(text)
	}
	page := read("README.md")
	for name, want := range map[string]int{"README.md": 4, "docs/clients.md": 10, "docs/testing.md": 1} {
		blocks, found := missing(read(name), read)
		require.Empty(t, blocks)
		require.Equal(t, want, found, name)
	}
	blocks, _ := missing(strings.Replace(page, "limits.Close()", "limits.End()", 1), read)
	require.Len(t, blocks, 1)
}

// TestReadmeImports checks that the import paths in README are packages of this module.
func TestReadmeImports(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	paths := regexp.MustCompile(`(?m)^\t"github.com/zlimit/zlimit(.*?)"`).FindAllSubmatch(page, -1)
	require.Len(t, paths, 4)
	for _, path := range paths {
		sources, err := filepath.Glob("." + string(path[1]) + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, sources, "%s", path[1])
	}
}
