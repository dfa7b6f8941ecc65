package limiter

import "testing"

func BenchmarkDecide(b *testing.B) {
	held := make(scores, 1000)
	for i := range held {
		held[i] = (startMs + int64(i)) * entriesPerMs
	}
	var log Log = held
	for _, c := range []struct {
		name  string
		q     []Quota
		nowMs int64
	}{
		{"allowed, all in the window", []Quota{per(2000, 60_000)}, startMs + 1000},
		{"allowed, half in the window", []Quota{per(2000, 500)}, startMs + 1000},
		{"denied", []Quota{per(300, 500)}, startMs + 1000},
		{"three quotas", []Quota{per(2000, 500), per(3000, 700), per(5000, 60_000)}, startMs + 1000},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Decide(log, c.nowMs, startMs+100_000, c.q, 1)
			}
		})
	}
}

func BenchmarkParseWindow(b *testing.B) {
	text := []byte("60000")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = ParseWindow(text)
	}
}
