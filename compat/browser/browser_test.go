package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// A look is how a page is seen.
type look struct {
	width, height int64
	scheme        string // of colors: "light" or "dark"
}

var (
	desktop = look{1400, 1000, "light"}
	looks   = []look{desktop, {1400, 1000, "dark"}, {400, 1000, "light"}, {400, 1000, "dark"}}
)

func (l look) String() string { return fmt.Sprintf("%s-%d", l.scheme, l.width) }

// A tab is a page in a browser of its own. It fails the test at the first error on the
// console, and at a request to another host than the page's.
type tab struct {
	t    *testing.T
	ctx  context.Context
	host string

	mu       sync.Mutex
	faults   []string // protected by mu, as are the fields below
	expected []string // faults that the test has provoked contain one of these
}

// chromium returns the browser's path.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	require.Fail(t, "no chromium: install Debian's package chromium, or set CHROMIUM")
	return ""
}

// open opens a tab on a page at "http://host/" or "http://user:password@host/".
func open(t *testing.T, address string, l look) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)),
		chromedp.NoSandbox, chromedp.Flag("lang", "en"), chromedp.UserDataDir(t.TempDir()))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	host := strings.TrimSuffix(strings.TrimPrefix(address, "http://"), "/")
	b := &tab{t: t, host: host[strings.LastIndex(host, "@")+1:]}
	b.ctx, stop = chromedp.NewContext(ctx, chromedp.WithListener(b.listen))
	t.Cleanup(stop)
	var size []chromedp.EmulateViewportOption
	if l.width < 600 {
		size = append(size, chromedp.EmulateMobile)
	}
	require.NoError(t, chromedp.Do(b.ctx)) // starts the browser, which lives as long as this context
	b.do(
		call(network.Enable, network.EnableParams{}),
		call(log.Enable, cdp.Empty{}),
		call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
		}),
		chromedp.EmulateViewport(l.width, l.height, size...),
		chromedp.Navigate(address),
	)
	t.Cleanup(b.requireNoFaults)
	return b
}

// call is a command of the protocol as an action.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// listen collects faults.
func (b *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.fault(fmt.Sprintf("exception: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.Exception.Description))
	case *runtime.EventConsoleAPICalled:
		b.fault(fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		b.fault(fmt.Sprintf("log: %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *network.EventRequestWillBeSent:
		to, err := url.Parse(e.Request.URL)
		if err != nil || to.Host != b.host && e.Request.URL != "data:," {
			b.fault("request to " + e.Request.URL)
		}
	}
}

func (b *tab) fault(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.expected {
		if strings.Contains(text, e) {
			return
		}
	}
	b.faults = append(b.faults, text)
}

// expect makes faults that contain a text not count.
func (b *tab) expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, text)
}

func (b *tab) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.faults...)
}

func (b *tab) requireNoFaults() { require.Empty(b.t, b.seen()) }

// do runs actions.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, actions...))
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return out
}

// await waits until a JavaScript expression is true. The page's policy forbids eval, so
// the expression is not a text to the browser.
func (b *tab) await(expression string) {
	b.t.Helper()
	if !eval[bool](b, fmt.Sprintf(`new Promise((done) => {
		const start = performance.now();
		const look = () => {
			if (%s) done(true);
			else if (performance.now() - start > 30000) done(false);
			else setTimeout(look, 20);
		};
		look();
	})`, expression)) {
		require.Fail(b.t, "waiting for "+expression, "faults: %q\nthe page: %s", b.seen(),
			eval[string](b, "document.body.innerText"))
	}
}

// awaitLive waits until the first events are there.
func (b *tab) awaitLive() {
	b.t.Helper()
	b.await(`document.getElementById("status").textContent === "Live" &&
		document.querySelectorAll("#figures dd").length > 0 &&
		!document.querySelector("#clients-table .none")`)
}

// text returns the text of the first element that a selector matches.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}
