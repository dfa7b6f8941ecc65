package info

import (
	"strconv"

	"github.com/zlimit/zlimit/engine/replication"
)

var replicationRows = []row{
	fact("role", func(f *Facts) any {
		if f.Link() == nil {
			return "master"
		}
		return "slave"
	}),
	family("master_", putLink, replica),
	fact("slave_read_repl_offset", func(f *Facts) any {
		return max(f.Link().Offset, f.Stream().Offset)
	}, replica),
	fact("slave_repl_offset", func(f *Facts) any { return f.Stream().Offset }, replica),
	family("master_", putSync, replica),
	fact("slave_priority", func(f *Facts) any { return f.Config.Int("replica-priority") }, replica),
	fact("slave_read_only", func(f *Facts) any { return f.Config.Bool("replica-read-only") }, replica),
	fact("replica_announced", func(f *Facts) any { return f.Config.Bool("replica-announced") }, replica),
	fact("connected_slaves", func(f *Facts) any { return len(f.Master.Replicas()) }),
	fact("min_slaves_good_slaves", func(f *Facts) any {
		return f.Master.Good(f.MonotonicUs, f.Config.Int("min-replicas-max-lag")*1_000_000)
	}, condition(func(f *Facts) bool {
		return f.Config.Int("min-replicas-to-write") > 0 && f.Config.Int("min-replicas-max-lag") > 0
	})),
	family("slave", func(f *Facts, put put) {
		for i, r := range f.Master.Replicas() {
			lag := int64(0)
			if r.State == replication.Online {
				lag = (f.MonotonicUs - r.AckedUs) / 1_000_000
			}
			put(strconv.Itoa(i), pairs{
				{"ip", r.Host()}, {"port", r.Port}, {"state", r.State}, {"offset", r.Offset}, {"lag", lag},
			})
		}
	}, differs("state is send_bulk from the first byte of a copy until the replica has loaded it; Redis "+
		"says wait_bgsave while it sends a copy without a file.", "*")),
	fact("sentinels_connected", func(f *Facts) any { return f.Broker.Sentinels.Load() },
		gauge("zlimit_sentinels_connected", "Sentinels that watch the server."),
		extra("Clients subscribed to `__sentinel__:hello`, as Sentinels are.")),
	fact("master_failover_state", func(f *Facts) any { return f.Failover() }),
	fact("master_replid", func(f *Facts) any { return f.Stream().ID }),
	fact("master_replid2", func(f *Facts) any { return f.Stream().Previous }),
	fact("master_repl_offset", func(f *Facts) any { return f.Stream().Offset }),
	fact("second_repl_offset", func(f *Facts) any { return f.Stream().PreviousEnd }),
	fact("repl_backlog_active", func(f *Facts) any { return f.Stream().Active }),
	fact("repl_backlog_size", func(f *Facts) any { return f.Stream().Size }),
	fact("repl_backlog_first_byte_offset", func(f *Facts) any { return f.Stream().First }),
	fact("repl_backlog_histlen", func(f *Facts) any { return f.Stream().Held }),
}

// replica is the condition of the rows that describe the link to a master.
var replica = condition(func(f *Facts) bool { return f.Link() != nil })

func putLink(f *Facts, put put) {
	l := f.Link()
	status, ago := "down", int64(-1)
	if l.State == replication.Connected {
		status, ago = "up", (f.MonotonicUs-l.LastUs)/1_000_000
	}
	put("host", l.Host)
	put("port", l.Port)
	put("link_status", status)
	put("last_io_seconds_ago", ago)
	put("sync_in_progress", l.Syncing)
}

// putSync puts how far a copy is, and since when the link is down.
func putSync(f *Facts, put put) {
	l := f.Link()
	if l.Syncing {
		total, share := max(l.Read+l.Left, 0), 0.0
		if l.Left < 0 {
			total = 0
		} else if total > 0 {
			share = float64(l.Read) / float64(total) * 100
		}
		put("sync_total_bytes", total)
		put("sync_read_bytes", l.Read)
		put("sync_left_bytes", max(l.Left, 0))
		put("sync_perc", ratio(share))
		put("sync_last_io_seconds_ago", (f.MonotonicUs-l.LastUs)/1_000_000)
	}
	if l.State != replication.Connected {
		put("link_down_since_seconds", (f.MonotonicUs-l.DownUs)/1_000_000)
		put("link_error", l.Why)
	}
}
