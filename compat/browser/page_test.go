package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// TestFiguresEqualInfo: what the page shows is what INFO says.
func TestFiguresEqualInfo(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru")
	s.traffic()
	s.do("NOSUCHCOMMAND")
	b := open(t, "http://"+s.host+"/", desktop)
	b.awaitLive()
	figure := func(label string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("#figures > div")].find((d) => d.children[0].innerText === %q)`,
			label)
	}
	for _, row := range [][2]string{
		{"Clients", "connected_clients"}, {"Evicted keys", "evicted_keys"}, {"Error replies", "total_error_replies"},
	} {
		b.await(fmt.Sprintf(`%s.children[1].innerText === %q`, figure(row[0]), s.info(row[1])))
	}
	for _, row := range [][3]string{
		{"Allowed per s", "limiter_allowed", " in all"},
		{"Denied per s", "limiter_denied", " in all"},
		{"Clients", "blocked_clients", " blocked"},
		{"Keys", "expired_keys", " expired"},
		{"Evicted keys", "maxmemory_policy", ""},
		{"Error replies", "rejected_connections", " clients refused"},
	} {
		b.await(fmt.Sprintf(`%s.children[2].innerText === %q`, figure(row[0]), s.info(row[1])+row[2]))
	}
	keys, _, _ := strings.Cut(strings.TrimPrefix(s.info("db0"), "keys="), ",")
	b.await(fmt.Sprintf(`%s.children[1].innerText === %q`, figure("Keys"), keys))
	require.Equal(t, "of 64.0 M", eval[string](b, figure("Memory")+`.children[2].innerText`))
	require.Equal(t, s.info("zlimit_version"), b.text("#version"))
	require.Contains(t, b.text("#about"), "port "+s.info("tcp_port")+" · up ")

	// By algorithm: every row of the table is a field of INFO.
	table := b.text("#algorithms-table tbody")
	for _, algorithm := range []string{"log", "fixed", "gcra"} {
		var allowed, denied, peeked, units int
		_, err := fmt.Sscanf(s.info("algorithm_"+algorithm), "allowed=%d,denied=%d,peeked=%d,units=%d", &allowed, &denied,
			&peeked, &units)
		require.NoError(t, err)
		require.Contains(t, table, fmt.Sprintf("%s\t%d\t%d\t%d", strings.ToUpper(algorithm), allowed, denied, units))
	}

	// What changes is shown without a reload, and rates follow.
	denied := s.info("limiter_denied")
	s.traffic()
	require.NotEqual(t, denied, s.info("limiter_denied"))
	b.await(fmt.Sprintf(`%s.children[2].innerText === %q`, figure("Denied per s"), s.info("limiter_denied")+" in all"))
	b.await(`document.querySelectorAll("#decisions-chart polyline").length === 2`)
	// The comparison can fail.
	require.NotEqual(t, "12345", eval[string](b, figure("Clients")+`.children[1].innerText`))
}

// TestChartsBeginFilled: a chart shows what the server has kept from before the page was opened.
func TestChartsBeginFilled(t *testing.T) {
	t.Parallel()
	var samples [][]int64 // as of server_time_usec: each second ten calls are allowed, three denied
	for i := range int64(300) {
		samples = append(samples, []int64{(1_700_000_000 + i) * 1e6, 10 * i, 3 * i, 13 * i, 130 * i, 1 << 20, 1 << 25})
	}
	s := startCanned(t, &canned{events: map[string]any{
		"history": map[string]any{"run_id": "1", "samples": samples},
	}})
	b := open(t, "http://"+s.host+"/", desktop)
	b.await(`document.querySelectorAll("#decisions-chart polyline").length === 2`)
	for chart, want := range map[string]string{
		"decisions": "4 min 55 s ago: allowed 10, denied 3.0", "memory": "4 min 55 s ago: keys and buffers 1.00 M, process 32.0 M",
		"latency": "4 min 55 s ago: mean µs of a command 10",
	} {
		slider := fmt.Sprintf("#%s-chart svg[role=slider]", chart)
		b.do(chromedp.Focus(chromedp.CSS(slider)), chromedp.KeyEvent(kb.Home))
		for range 5 {
			b.do(chromedp.KeyEvent(kb.ArrowRight))
		}
		require.Equal(t, want, eval[string](b, fmt.Sprintf(`document.querySelector(%q).getAttribute("aria-valuetext")`, slider)))
	}
}

// TestLooks: in every look nothing is cut off or too pale.
func TestLooks(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--maxmemory", "64mb")
	s.traffic()
	grounds := map[string]string{}
	for _, l := range looks {
		b := open(t, "http://"+s.host+"/", l)
		b.awaitLive()
		b.await(`document.querySelectorAll("#decisions-chart polyline").length === 2`)
		require.LessOrEqual(t, eval[float64](b, `document.scrollingElement.scrollWidth`), float64(l.width), l)
		require.Empty(t, eval[[]string](b, cutOff), l)
		require.Empty(t, eval[[]string](b, scrolled), l)
		require.Empty(t, eval[[]string](b, paleTexts), l)
		grounds[l.scheme] = eval[string](b, `getComputedStyle(document.body).backgroundColor`)
		// The check of contrast can fail.
		eval[any](b, `document.querySelector("h2").style.color = "rgb(128, 128, 128)"`)
		require.NotEmpty(t, eval[[]string](b, paleTexts), l)
	}
	require.NotEqual(t, grounds["light"], grounds["dark"])
}

// cutOff lists the elements that stick out of their section.
const cutOff = `[...document.querySelectorAll("section, #figures")].flatMap((s) => {
	const box = s.getBoundingClientRect();
	return [...s.querySelectorAll("*")].filter((e) => !e.closest(".scroll") && !e.closest("select")).filter((e) => {
		const inner = e.getBoundingClientRect();
		return inner.width > 0 && (inner.right > box.right + 1 || inner.left < box.left - 1);
	}).map((e) => s.id + ": " + e.tagName + " " + e.textContent.slice(0, 40));
})`

// scrolled lists the tables that are wider than what is seen of them.
const scrolled = `[...document.querySelectorAll(".scroll")].filter((e) => e.scrollWidth > e.clientWidth)
	.map((e) => e.firstElementChild.id)`

// paleTexts lists texts whose contrast with what is behind them is below 4.5:1, which is
// WCAG's AA for text of this size.
const paleTexts = `(() => {
	const rgb = (color) => color.match(/[\d.]+/g).map(Number);
	const light = (color) => {
		const [r, g, b] = rgb(color).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const behind = (e) => {
		for (; e; e = e.parentElement) {
			const color = getComputedStyle(e).backgroundColor;
			if (rgb(color)[3] !== 0) return color;
		}
		return "rgb(255, 255, 255)";
	};
	return [...document.querySelectorAll("body *")].filter((e) => e.getClientRects().length > 0 &&
		!e.closest("option, script, style, .skip") &&
		[...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim() !== "")).filter((e) => {
		const style = getComputedStyle(e);
		const [a, b] = [light(e.namespaceURI.endsWith("svg") ? style.fill : style.color), light(behind(e))];
		return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
	}).map((e) => e.tagName + " " + e.textContent.slice(0, 40));
})()`

// TestKeyboard: everything can be reached and used with the keyboard, in the order in which
// it stands, and has a name for screen readers.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	s := startCanned(t, &canned{
		events: map[string]any{
			"info":   "server_time_usec:1700000000000000\r\nrun_id:1\r\nuptime_in_seconds:1\r\n",
			"denied": top([]string{"user:1", "user:2"}), "clients": "id=1 addr=a\n",
		},
		answer: func(args []string) any {
			if args[0] == "RL.SIM" {
				return simulation()
			}
			return explanation()
		},
	})
	b := open(t, "http://"+s.host+"/", desktop)
	b.await(`document.querySelectorAll("#denied-table button").length === 2`)
	var order []string
	for range 40 {
		b.do(chromedp.KeyEvent(kb.Tab))
		at := eval[string](b, `(() => {
			const e = document.activeElement;
			if (e === document.body) return "";
			const name = e.getAttribute("aria-label") ?? e.labels?.[0]?.firstChild.textContent.trim() ?? e.textContent;
			const seen = getComputedStyle(e).outlineStyle !== "none" || e.matches("select, input");
			return e.tagName.toLowerCase() + " " + name + (seen ? "" : " without outline");
		})()`)
		if at == "" {
			break
		}
		order = append(order, at)
	}
	require.Equal(t, []string{
		"a Skip to the key inspector",
		"svg Decisions per second over the last five minutes",
		"select within", "button user:1", "button user:2",
		"input Key", "input Limit", "input Window", "input Cost", "button Explain",
		"input Limit", "input Window", "select Algorithm", "select From", "button Replay",
		"svg Memory over the last five minutes",
		"svg Mean execution time of commands over the last five minutes",
	}, order)

	// A key of the list is explained, by the keyboard alone, and so is one that is typed.
	eval[any](b, `document.querySelectorAll("#denied-table button")[1].focus() ?? 0`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.await(`document.getElementById("explained").innerText.includes("20 of 20 in 1 min")`)
	require.Equal(t, []string{"RL.EXPLAIN", "user:2", "20", "60000"}, s.last(), "the limit of its last decision")
	require.NotContains(t, b.text("#explained"), "a guess")
	require.Equal(t, "key", eval[string](b, `document.activeElement.id`))
	text := b.text("#explained")
	for _, want := range []string{
		"in 5.00 s", "A call of 5 fits", "in 21.0 s", "55.0 s ago", "With a limit of 40", "allowed, 19 remain",
	} {
		require.Contains(t, text, want)
	}
	require.Contains(t, eval[string](b, `document.querySelector("#explained svg").getAttribute("aria-label")`),
		"oldest first: 3, 0, 1, 7, 2, 0, 0, 4, 1, 2. The next units leave 2 in 5.00 s, 1 in 5.30 s, ")
	b.await(`document.querySelectorAll("#explained .bar").length === 7`)
	b.await(`document.querySelectorAll("#explained .next").length === 7`)
	b.do(set("cost", "5"), chromedp.Focus(chromedp.CSS("#cost")), chromedp.KeyEvent(kb.Enter))
	require.Eventually(t, func() bool { return len(s.last()) == 6 }, timeout, 1e6)
	require.Equal(t, []string{"RL.EXPLAIN", "user:2", "20", "60000", "COST", "5"}, s.last())
	b.do(chromedp.Focus(chromedp.CSS("#sim-limit")), chromedp.KeyEvent(kb.Enter))
	require.Eventually(t, func() bool { return s.last()[0] == "RL.SIM" }, timeout, 1e6)
	require.Equal(t, []string{"RL.SIM", "user:2", "200", "1m", "FROM", "KEY", "1000"}, s.last())
	b.await(`document.getElementById("simulated-table") !== null`)
	require.Equal(t, "The last 7 decisions, replayed from the units that the key holds\n"+
		"Calls\tAt the time\tUnder this limit\nAdmitted\t7\t5\nDenied\tunknown\t2\n"+
		"Never admitted\t–\t0\nDecided otherwise\t–\t2\nUnits granted\t–\t5\n"+
		"Longest wait\t–\t1.50 s", strings.TrimSpace(b.text("#simulated-table")))
	require.Equal(t, "row row row row row row", eval[string](b,
		`[...document.querySelectorAll("#simulated-table tbody th")].map((h) => h.scope).join(" ")`))

	// A chart is read with the arrow keys.
	b.do(chromedp.Focus(chromedp.CSS("#decisions-chart svg[role=slider]")), chromedp.KeyEvent(kb.ArrowLeft))
	require.Contains(t, eval[string](b,
		`document.querySelector("#decisions-chart svg").getAttribute("aria-valuetext")`), "1 s ago: allowed ")
	require.Equal(t, "-1", eval[string](b,
		`document.querySelector("#decisions-chart svg").getAttribute("aria-valuenow")`))
}

// TestPassword: the page is behind the password, and works behind it.
func TestPassword(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--requirepass", "secret")
	s.do("AUTH", "secret")
	s.do("ACL", "SETUSER", "viewer", "on", ">v", "+info")
	reply, err := http.Get("http://" + s.host + "/")
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	require.Equal(t, http.StatusUnauthorized, reply.StatusCode)

	b := open(t, "http://default:secret@"+s.host+"/", desktop)
	b.awaitLive()
	b.do(set("key", "k"), chromedp.Click(chromedp.CSS("#inspect button")))
	b.await(`document.getElementById("explained").children.length > 0`)
	require.NotContains(t, b.text("#explained"), "cannot be reached")
	require.Contains(t, b.text("#explained"), "Limit and window are a guess")

	b = open(t, "http://viewer:v@"+s.host+"/", desktop)
	b.await(`document.getElementById("clients-table").innerText.includes("Your user may not call CLIENT LIST.")`)
	require.Equal(t, "Live", b.text("#status"))
}

// TestReconnect: a page whose stream ends says so, and follows the server again.
func TestReconnect(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	b := open(t, "http://"+s.host+"/", desktop)
	b.awaitLive()
	eval[any](b, `window.lost = false; new MutationObserver(() => {
		window.lost ||= document.getElementById("status").textContent.startsWith("Connection lost");
	}).observe(document.getElementById("status"), { childList: true, characterData: true, subtree: true }) ?? 0`)
	for line := range strings.SplitSeq(s.do("CLIENT", "LIST"), "\n") {
		if strings.Contains(line, " name=page ") {
			id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			require.Equal(t, "1", s.do("CLIENT", "KILL", "ID", id))
		}
	}
	b.expect("ERR_INCOMPLETE_CHUNKED_ENCODING")
	b.await(`window.lost`)
	b.await(`document.getElementById("status").textContent === "Live"`)
}
