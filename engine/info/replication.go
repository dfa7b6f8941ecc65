package info

import (
	"fmt"

	"github.com/zlimit/zlimit/engine/replication"
)

// ReplicationFacts are about masters and replicas.
type ReplicationFacts struct {
	Stream   replication.Status
	Replicas []replication.ReplicaStatus
	Failover string      // the state of FAILOVER
	Good     int         // replicas that count for min-replicas-to-write
	Master   *MasterFact // nil: the server is a master

	Full, Partial, Refused int64 // copies and continuations that replicas asked for
	Unexpected             int64 // commands of a master that could not be carried out

	Sentinels int64 // sessions that have subscribed to Sentinel's channel
}

// MasterFact is what a replica says of its master.
type MasterFact struct {
	Host string
	Port int
	Link replication.LinkStatus
}

func writeReplication(f *Facts, w *writer) {
	r := &f.Replication
	if r.Master == nil {
		w.put("role", "master")
	} else {
		w.put("role", "slave")
		r.Master.write(f, w)
	}
	w.put("connected_slaves", len(r.Replicas))
	if f.Config.Int("min-replicas-to-write") > 0 && f.Config.Int("min-replicas-max-lag") > 0 {
		w.put("min_slaves_good_slaves", r.Good)
	}
	for i := range r.Replicas {
		one := &r.Replicas[i]
		lag := int64(0)
		if one.State == replication.Online {
			lag = (f.MonotonicUs - one.AckedUs) / 1_000_000
		}
		w.put(fmt.Sprintf("slave%d", i), fmt.Sprintf("ip=%s,port=%d,state=%s,offset=%d,lag=%d",
			one.Host(), one.Port, one.State, one.Offset, lag))
	}
	w.put("sentinels_connected", r.Sentinels)
	s := &r.Stream
	w.put("master_failover_state", r.Failover)
	w.put("master_replid", s.ID)
	w.put("master_replid2", s.Previous)
	w.put("master_repl_offset", s.Offset)
	w.put("second_repl_offset", s.PreviousEnd)
	w.put("repl_backlog_active", flag(s.Active))
	w.put("repl_backlog_size", s.Size)
	w.put("repl_backlog_first_byte_offset", s.First)
	w.put("repl_backlog_histlen", s.Held)
}

func (m *MasterFact) write(f *Facts, w *writer) {
	s := &m.Link
	up := s.State == replication.Connected
	state, ago := "down", int64(-1)
	if up {
		state, ago = "up", (f.MonotonicUs-s.LastUs)/1_000_000
	}
	at := f.Replication.Stream.Offset
	w.put("master_host", m.Host)
	w.put("master_port", m.Port)
	w.put("master_link_status", state)
	w.put("master_last_io_seconds_ago", ago)
	w.put("master_sync_in_progress", flag(s.Syncing))
	w.put("slave_read_repl_offset", max(s.Offset, at))
	w.put("slave_repl_offset", at)
	if s.Syncing {
		total, percent := max(s.Read+s.Left, 0), 0.0
		if s.Left < 0 {
			total = 0
		} else if total > 0 {
			percent = float64(s.Read) / float64(total) * 100
		}
		w.put("master_sync_total_bytes", total)
		w.put("master_sync_read_bytes", s.Read)
		w.put("master_sync_left_bytes", max(s.Left, 0))
		w.put("master_sync_perc", fmt.Sprintf("%.2f", percent))
		w.put("master_sync_last_io_seconds_ago", (f.MonotonicUs-s.LastUs)/1_000_000)
	}
	if !up {
		w.put("master_link_down_since_seconds", (f.MonotonicUs-s.DownUs)/1_000_000)
		w.put("master_link_error", s.Why)
	}
	w.put("slave_priority", f.Config.Int("replica-priority"))
	w.put("slave_read_only", flag(f.Config.Bool("replica-read-only")))
	w.put("replica_announced", flag(f.Config.Bool("replica-announced")))
}
