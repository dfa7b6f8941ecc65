package browser

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A canned server serves the page of a zlimit-server with replies that the test chooses,
// for what is hard to make a server say.
type canned struct {
	host   string
	events map[string]any                  // by feed: replies
	answer func(args []string) (reply any) // of /command

	mu    sync.Mutex
	asked [][]string // protected by mu: the commands
}

func startCanned(t *testing.T, c *canned) *canned {
	t.Helper()
	real := startServer(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		page, err := http.Get("http://" + real.host + "/")
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer page.Body.Close()
		for _, name := range []string{"Content-Type", "Content-Security-Policy"} {
			w.Header().Set(name, page.Header.Get(name))
		}
		_, _ = io.Copy(w, page.Body)
	})
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for name, reply := range c.events {
			text, _ := json.Marshal(map[string]any{"reply": reply})
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text)
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /command", func(w http.ResponseWriter, r *http.Request) {
		args := r.URL.Query()["arg"]
		c.mu.Lock()
		c.asked = append(c.asked, args)
		c.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"reply": c.answer(args)})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	c.host = strings.TrimPrefix(server.URL, "http://")
	return c
}

// last returns the last command that was asked for.
func (c *canned) last() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asked) == 0 {
		return nil
	}
	return c.asked[len(c.asked)-1]
}

// latin1 returns bytes as the page gets them: a character for each.
func latin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

// hostileNames are names of keys that a page must show as they are and do nothing else with.
var hostileNames = []string{
	`<img src=x onerror="window.pwned=1">`, `</script><script>window.pwned=1</script>`,
	`"><svg onload=window.pwned=1>`, `javascript:window.pwned=1`, `{{constructor.constructor('pwned=1')()}}`,
	`__proto__`, `constructor`, "new\nline\r\x00\x1b[31m", "\xff\xfe invalid", "right\u202eto left", "é漢字🙂",
	" spaces ", `back\slash "quotes" '`, `\x41`, strings.Repeat("long", 200), "",
}

func explanation() map[string]any {
	return map[string]any{
		"algorithm": "LOG", "now_ms": 1_700_000_000_000, "ttl_ms": 55_000,
		"windows": []any{map[string]any{
			"limit": 20, "window_ms": 60_000, "used": 20, "remaining": 0,
			"oldest_ms": 1_699_999_945_000, "oldest_age_ms": 55_000,
			"newest_ms": 1_699_999_998_000, "newest_age_ms": 2000,
			"tenths":         []int{3, 0, 1, 7, 2, 0, 0, 4, 1, 2},
			"leave_after_ms": []int{5000, 5300, 17_000, 21_000, 21_500, 22_000, 23_000},
			"leave_units":    []int{2, 1, 1, 1, 1, 3, 1},
			"fits_after_ms":  5000, "cost": 5, "cost_fits_after_ms": 21_000,
			"double": map[string]any{"limit": 40, "allowed": 1, "remaining": 19, "retry_after_ms": 0},
		}},
	}
}

// top returns a reply of RL.TOP.
func top(names []string) map[string]any {
	var keys []any
	for i, name := range names {
		keys = append(keys, []any{latin1(name), 100_000 - i, i, 20, 60_000})
	}
	return map[string]any{"by": "denied", "keys": keys}
}

// hostile returns a server all of whose texts are hostile.
func hostile(t *testing.T) *canned {
	var slow []any
	for i, name := range hostileNames {
		slow = append(slow, []any{i, 1, 2, []string{"RL.ALLOW", latin1(name)}, latin1(name), latin1(name)})
	}
	name := hostileNames[0]
	return startCanned(t, &canned{
		events: map[string]any{
			"info": "server_time_usec:1\r\nzlimit_version:" + name + "\r\nmaxmemory_policy:" + name +
				"\r\nmaxmemory:1\r\ncmdstat_" + name + ":calls=1\r\nheld_" + name + ":keys=1\r\nalgorithm_" + name +
				":allowed=1,denied=1\r\ntcp_port:" + name + "\r\n",
			"denied": top(hostileNames), "hot": top(hostileNames), "bytes": top(hostileNames),
			"slowlog": slow, "latency": []any{[]any{name, 1, 2, 3}},
			"clients": "id=1 addr=" + strings.ReplaceAll(name, " ", "/") + " name=<b>x</b> user=<i>\n",
			"stats":   map[string]any{"prefixes": map[string]any{name: map[string]any{"allowed": 1}}},
		},
		answer: func([]string) any {
			return map[string]any{"algorithm": name, "unknown": name, name: name, "windows": []any{}}
		},
	})
}

// TestHostileNames: names do nothing, are seen as they are, and reach the server unchanged
// if their button is pressed.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	s := hostile(t)
	b := open(t, "http://"+s.host+"/", desktop)
	b.await(`document.querySelectorAll("#denied-table button").length === ` + fmt.Sprint(len(hostileNames)))
	b.await(`document.querySelectorAll("#slow-table tbody tr").length === ` + fmt.Sprint(len(hostileNames)))
	for i, name := range hostileNames {
		eval[any](b, fmt.Sprintf(`document.querySelectorAll("#denied-table button")[%d].click() ?? 0`, i))
		b.await(`document.getElementById("explained").children.length > 0`)
		require.Eventually(t, func() bool {
			asked := s.last()
			return len(asked) > 1 && asked[0] == "RL.EXPLAIN" && asked[1] == name
		}, timeout, 1e6, "%q: %q", name, s.last())
	}
	text := b.text("#denied-table")
	for _, want := range []string{
		hostileNames[2][:2], `</script><script>window.pwned=1</script>`, `\xff\xfe invalid`, `\x0a`, `\x1b[31m`,
		`right\xe2\x80\xaeto left`, "é漢字🙂", `" spaces "`, `back\\slash`, `"\\x41"`,
	} {
		require.Contains(t, text, want)
	}
	require.False(t, eval[bool](b, `"pwned" in window || document.querySelector("main img, main b, main i") !== null ||
		document.scripts.length !== 1 || document.querySelector("[onerror], [onload]") !== null`))
	require.Equal(t, eval[float64](b, `innerWidth`), eval[float64](b, `document.scrollingElement.scrollWidth`),
		"long names do not make the page wider")
}

// TestPolicy: the browser refuses what a script that was smuggled in would do.
func TestPolicy(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	b := open(t, "http://"+s.host+"/", desktop)
	b.awaitLive()
	for _, fault := range []string{"Content Security Policy", "TrustedHTML", "TrustedScript"} {
		b.expect(fault)
	}
	for _, try := range []string{
		`document.body.innerHTML = "<b>x</b>"`,
		`document.body.insertAdjacentHTML("beforeend", "<img src=x>")`,
		`setTimeout("window.pwned = 1")`,
		`document.write("x")`,
	} {
		require.True(t, eval[bool](b, fmt.Sprintf(`(() => { try { %s; return false } catch { return true } })()`, try)), try)
	}
	require.True(t, eval[bool](b, `new Promise((done) => {
		const s = document.createElement("script");
		s.append("window.pwned = 1");
		try { document.head.append(s) } catch { }
		setTimeout(() => done(!("pwned" in window)), 50);
	})`))
	require.True(t, eval[bool](b, `fetch("http://127.0.0.1:1/").then(() => false, () => true)`))
}

// simulation is a reply of RL.SIM to a call with FROM KEY.
func simulation() map[string]any {
	return map[string]any{
		"from": "key", "calls": 7, "lost": 0, "from_empty": nil,
		"first_ms": 1_699_999_990_000, "last_ms": 1_699_999_999_000,
		"admitted": 5, "denied": 2, "units": 5, "longest_wait_ms": 1500, "never": 0,
		"was_admitted": 7, "was_denied": nil, "changed": 2,
	}
}
