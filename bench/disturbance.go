package main

import (
	"errors"
	"os"
	"time"
)

// tolerated is the share of a core that other processes and the hypervisor may take in a
// round. A round that lost more is repeated.
const tolerated = 0.05

// counters is a reading of the kernel's counters.
type counters struct {
	at                   time.Time
	server, client, idle processUse
	// cores has the servers' core and the client's, or, if nothing is pinned, the sum of
	// all.
	cores  [2]coreUse
	pinned bool
}

func (m *measurement) sample(s *side, all []*side) (counters, error) {
	l := counters{at: time.Now(), pinned: m.where.pinned()}
	var errs [4]error
	l.server, errs[0] = readProcess(s.pid)
	l.client, errs[1] = readProcess(os.Getpid())
	if l.pinned {
		l.cores[0], errs[2] = readCore(m.where.server)
		l.cores[1], errs[3] = readCore(m.where.client)
	} else {
		l.cores[0], errs[2] = readCore(allCores)
	}
	for _, other := range all {
		if other != s {
			use, err := readProcess(other.pid)
			l.idle.cpu += use.cpu
			errs[0] = errors.Join(errs[0], err)
		}
	}
	return l, errors.Join(errs[:]...)
}

// A use is what was used between two readings.
type use struct {
	wall, server, client, idle time.Duration
	// foreign and stolen are what others and the hypervisor took of each core.
	foreign, stolen [2]time.Duration
	rss             int64 // at the end
}

// since returns what was used since an earlier reading.
func (l counters) since(before counters) use {
	u := use{
		wall: l.at.Sub(before.at), server: l.server.cpu - before.server.cpu,
		client: l.client.cpu - before.client.cpu, idle: l.idle.cpu - before.idle.cpu,
		rss: l.server.rss,
	}
	known := [2]time.Duration{u.server + u.idle, u.client}
	if !l.pinned {
		known = [2]time.Duration{u.server + u.idle + u.client, 0}
	}
	for i := range l.cores {
		u.foreign[i] = l.cores[i].busy - before.cores[i].busy - known[i]
		u.stolen[i] = l.cores[i].stolen - before.cores[i].stolen
	}
	return u
}

// round returns the result of a round in which this was used.
func (u use) round(t *tally) round {
	share := func(d time.Duration) float64 { return max(0, float64(d)/float64(u.wall)) }
	r := round{
		PerSecond:  float64(t.flows) / t.elapsed.Seconds(),
		P50:        t.latency.quantile(0.50),
		P99:        t.latency.quantile(0.99),
		P999:       t.latency.quantile(0.999),
		CPUPerMega: u.server.Seconds() / float64(t.all) * 1e6,
		RSS:        u.rss,
		ServerBusy: share(u.server),
		ClientBusy: share(u.client),
		IdleBusy:   share(u.idle),
		Admitted:   t.admitted,
		Denied:     t.denied,
	}
	for i := range u.foreign {
		r.Stolen = max(r.Stolen, share(u.stolen[i]))
		r.Disturbed = max(r.Disturbed, share(u.foreign[i])+share(u.stolen[i]))
	}
	return r
}

// repeats is how many further attempts at disturbed rounds a row has left.
type repeats struct{ left int }

// attempts is how often one round is taken at most.
const attempts = 3

// calmest takes a round, and again if it was disturbed, as long as there are attempts
// left. It returns the one that was disturbed least. said is told of each that was.
func (a *repeats) calmest(take func() (round, error), said func(round)) (round, error) {
	best, err := take()
	for n := 1; err == nil && best.Disturbed > tolerated; n++ {
		said(best)
		if a.left == 0 || n == attempts {
			break
		}
		a.left--
		var r round
		if r, err = take(); err == nil && r.Disturbed < best.Disturbed {
			best = r
		}
		best.Repeated = n
	}
	return best, err
}
