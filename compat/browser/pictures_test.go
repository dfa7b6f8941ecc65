package browser

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var pictures = flag.String("pictures", "", "the directory in which TestPictures writes what it sees")

// TestPictures takes pictures of a page with traffic in every look, for people to look at.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("run with -pictures DIR")
	}
	s := startServer(t, "--maxmemory", "64mb")
	s.traffic()
	for _, l := range looks {
		b := open(t, "http://"+s.host+"/", l)
		b.awaitLive()
		for range 12 {
			s.traffic()
			before := eval[float64](b, `performance.now()`)
			b.await(`performance.now() > ` + jsNumber(before+1000))
		}
		b.do(set("key", "api:search"), set("limit", "20"),
			set("window", "1m"), chromedp.Click(chromedp.CSS("#inspect button")))
		b.await(`document.getElementById("explained").children.length > 0`)
		picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(*pictures, l.String()+".png"), picture, 0o600))
	}
}

// set sets the value of a field.
func set(id, value string) chromedp.Action[chromedp.Void] {
	return chromedp.SetValue(chromedp.CSS("#"+id), value)
}
