package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// storageRows returns what keeping data costs.
func storageRows() []row {
	closed := func(name, about string, floor float64, pipeline int, sides []contender) row {
		return row{
			name: name, about: about, floor: floor, pipeline: pipeline, sides: sides,
			connections: 50, keys: 10_000, quota: perMinute,
		}
	}
	everysec := func(name, about string, f flow) row {
		return closed(name, about+" with a log, appendfsync everysec, against without", 0.9, 16, []contender{
			{program: ourServer, name: "ours with a log", flow: f, flags: logFlags(name, "everysec")},
			{program: ourServer, name: "ours without", flow: f},
		})
	}
	allow := everysec("everysec-16", "RL.ALLOW", rlAllow)
	allow.mix, allow.renew = admitting, true
	add := everysec("everysec-zadd-16", "ZADD", zadd)
	add.renew = true
	always := closed("always-1", "INCR with appendfsync always", 0.9, 1, both(increment))
	for i := range always.sides {
		c := &always.sides[i]
		c.flags = logFlags(always.name+"-"+string(c.program), "always")
	}
	return []row{
		allow, add, everysec("everysec-set-16", "SET of 16 bytes", set), always,
		{
			name:  "bgsave",
			about: "BGSAVE of a million limiters' keys, and RL.ALLOW 10,000 times a second meanwhile",
			floor: 0.5, measure: saving,
		},
		{
			name:  "start-log",
			about: "from the start to the first answer, with a log that RL.ALLOW has written",
			floor: 1, measure: startFromLog,
		},
	}
}

// logFlags switches the append-only log on, in a directory of the row's own. Rewrites would fall into some
// rounds only.
func logFlags(row, fsync string) []string {
	return []string{
		"--appendonly", "yes", "--appendfsync", fsync, "--appenddirname", row,
		"--auto-aof-rewrite-percentage", "0",
	}
}

// A job is a BGSAVE that a paced load waits for. A nil job is none.
type job struct {
	server  *serverProcess
	started bool
	began   time.Duration
	asked   time.Duration
	took    time.Duration // 0: not done yet
}

func (j *job) over() bool { return j != nil && j.took > 0 }

// look starts the job, and later asks, fifty times a second, whether it is done.
func (j *job) look(now time.Duration) error {
	if j == nil || j.over() || j.started && now-j.asked < 20*time.Millisecond {
		return nil
	}
	j.asked = now
	if !j.started {
		j.started, j.began = true, now
		_, err := j.server.ask("BGSAVE")
		return err
	}
	info, err := j.server.ask("INFO", "persistence")
	if err == nil && strings.Contains(info, "rdb_bgsave_in_progress:0") {
		j.took = now - j.began
		if !strings.Contains(info, "rdb_last_bgsave_status:ok") {
			err = fmt.Errorf("BGSAVE failed: %s", info)
		}
	}
	return err
}

// saving compares the time of a BGSAVE with Redis', and p99 during it with p99 when nothing happens.
func saving(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	var results []result
	var times []figure
	var seconds [][]float64
	for i, c := range against(rlAllow, evalsha) {
		c.flags = []string{"--dbfilename", r.name + "-" + string(c.program) + ".rdb"}
		m, err := b.meanwhile(ctx, c, say, "while it saves",
			func(s *serverProcess, l load, perSecond float64) (*tally, time.Duration, error) {
				l.job, l.duration = &job{server: s}, ioTimeout
				loud, err := l.paced(ctx, perSecond, nil)
				return loud, l.job.took, err
			})
		if err != nil {
			return nil, err
		}
		floor := 0.0
		if i == 0 {
			floor = 1 / 1.5
		}
		results = append(results, m.p99(r.name+"-p99-"+m.server, r.about, floor))
		times = append(times, figure{Name: m.server, Value: median(m.took)})
		seconds = append(seconds, m.took)
	}
	res := lower(r.name, "seconds of "+r.about, "s", r.target(b.quick), times[0], times[1])
	res.Ratio = compare(seconds[1], seconds[0])
	return append(results, res), nil
}

// startFromLog has our server write a log of RL.ALLOW on a million keys, and compares how long either server
// takes to start from it.
func startFromLog(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	const keys, perStretch = 1_000_000, 200_000
	flags := logFlags(r.name, "no")
	s, err := b.start(ctx, contender{program: ourServer, flags: flags})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	size := int64(0)
	for pick := uniform(keys, 0); size < b.logBytes; {
		l := &load{
			address: s.address, flow: rlAllow, pipeline: 100, connections: 10, keys: pick, flows: perStretch,
			quota: quota{limit: 1_000_000, windowMs: 3_600_000},
		}
		if _, err := l.run(ctx); err != nil {
			return nil, err
		}
		if size, err = folderSize(filepath.Join(b.dir, r.name)); err != nil {
			return nil, err
		}
	}
	filled, err := s.ask("DBSIZE")
	if err != nil {
		return nil, err
	}
	s.stop()
	var seconds [2][]float64
	for range b.rounds {
		for i, p := range []program{ourServer, redisServer} {
			began := time.Now()
			s, err := b.start(ctx, contender{program: p, flags: flags})
			if err != nil {
				return nil, err
			}
			held, err := s.ask("DBSIZE")
			s.stop()
			if err != nil || held != filled {
				return nil, errors.Join(err, fmt.Errorf("%s has %s keys, not %s", p, held, filled))
			}
			seconds[i] = append(seconds[i], s.answered.Sub(began).Seconds())
		}
	}
	ours, theirs := median(seconds[0]), median(seconds[1])
	say("%d MB, %s keys: ours %.2f s, redis %.2f s", size/1e6, filled, ours, theirs)
	res := lower(r.name, fmt.Sprintf("%s, of %d MB", r.about, size/1e6), "s", r.target(b.quick),
		figure{Name: "ours", Value: ours}, figure{Name: "redis", Value: theirs})
	res.Ratio = compare(seconds[1], seconds[0])
	res.Missed = missed(res.Ratio.OfMedians, res.Floor)
	return []result{res}, nil
}

// folderSize returns the size of the files in a folder.
func folderSize(folder string) (size int64, err error) {
	files, err := os.ReadDir(folder)
	for _, f := range files {
		info, infoErr := f.Info()
		if err = errors.Join(err, infoErr); infoErr == nil {
			size += info.Size()
		}
	}
	return size, err
}
