package browser

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var (
	pictures = flag.String("pictures", "", "the directory in which TestPictures writes what it sees")
	watched  = flag.Duration("watched", 30*time.Second, "how long TestPictures lets a server work before")
)

// TestPictures takes pictures of a page with traffic in every look, for people to look at.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("it takes pictures for people and checks nothing, which TestLooks does: run with -pictures DIR")
	}
	s := startServer(t, "--maxmemory", "64mb", "--maxmemory-policy", "limiter-aware", "--rl-top-sampling", "1",
		"--slowlog-log-slower-than", "2000", "--latency-monitor-threshold", "2")
	s.do("CLIENT", "SETNAME", "checkout")
	var tabs []*tab
	for _, l := range looks {
		b := open(t, "http://"+s.host+"/", l)
		b.awaitLive()
		tabs = append(tabs, b)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	rounds := int(*watched / (100 * time.Millisecond))
	for i := range rounds {
		s.day(i)
		<-tick.C
	}
	for i, b := range tabs {
		b.do(set("key", "login:203.0.113.9"), set("limit", "20"), set("window", "1m"),
			chromedp.Click(chromedp.CSS("#inspect button")))
		b.await(`document.getElementById("explained").children.length > 0`)
		b.do(chromedp.Click(chromedp.CSS("#simulate button")))
		b.await(`document.getElementById("simulated").children.length > 0`)
		b.do(chromedp.Blur(chromedp.CSS("#simulate button")))
		eval[any](b, `scrollTo(0, 0) ?? 0`)
		for name, take := range map[string]chromedp.Action[[]byte]{
			looks[i].String(): chromedp.FullScreenshot(100), looks[i].String() + "-top": chromedp.CaptureScreenshot(),
		} {
			picture, err := chromedp.Run(b.ctx, take)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(*pictures, name+".png"), picture, 0o600))
		}
	}
}

// day makes the traffic of a tenth of a second.
func (s *zserver) day(i int) {
	busy := 6 + int(4*math.Sin(float64(i)/190)+2*math.Sin(float64(i)/37))
	for j := range busy {
		s.do("RL.ALLOW", fmt.Sprintf("user:%d", (i*7+j*13)%900), "3", "30s")
		s.do("RL.ALLOW", fmt.Sprintf("tenant:%d:search", (i+j)%12), "60", "10s", "ALGO", "BUCKETS", "10")
	}
	if i%3 == 0 {
		s.do("RL.ALLOW", "login:203.0.113.9", "20", "1m")
		s.do("RL.ALLOW", fmt.Sprintf("login:198.51.100.%d", i%20), "5", "1m", "ALGO", "FIXED")
		s.do("RL.ALLOW", "upload:eu", "100", "1h", "ALGO", "GCRA", "5")
	}
	if i/200%2 == 1 { // an attack
		for range 5 {
			s.do("RL.ALLOW", "tenant:7:export", "10", "1m")
		}
	}
	if i%90 == 0 {
		s.do("EVAL", "local n = 0 for i = 1, tonumber(ARGV[1]) do n = n + i end return n", "1", "report:daily", "300000")
	}
}

// set sets the value of a field.
func set(id, value string) chromedp.Action[chromedp.Void] {
	return chromedp.SetValue(chromedp.CSS("#"+id), value)
}
