package info

var clientRows = []row{
	fact("connected_clients", func(f *Facts) any {
		n := f.Sessions()
		return word{max(n-f.Master.Count(), 0), n} // one may have closed in between
	}, gauge("zlimit_connected_clients", "Connected clients."),
		differs("Viewers of the page of metrics-addr are not counted.")),
	always("cluster_connections", 0),
	fact("maxclients", func(f *Facts) any { return f.Config.Int("maxclients") },
		gauge("zlimit_maxclients", "Limit of connected clients.")),
	family("client_recent_max_", func(f *Facts, put put) {
		input, output := f.LargestBuffers()
		put("input_buffer", input)
		put("output_buffer", output)
	}),
	fact("blocked_clients", func(f *Facts) any { return f.Stats.Blocked.All.Load() },
		gauge("zlimit_blocked_clients", "Clients that wait in a blocking command.")),
	fact("rl_waiting_calls", func(f *Facts) any { return f.Store.ChangeWaiters() },
		extra("Calls with WAIT that wait for room in their keys."),
		gauge("zlimit_rl_waiting_calls", "Calls with WAIT that wait for room in their keys.")),
	fact("tracking_clients", func(f *Facts) any { return f.Tracking.Clients() }),
	fact("pubsub_clients", func(f *Facts) any { return f.Subscribed() },
		extra("From Redis 7.4: connections that have subscribed.")),
	fact("watching_clients", func(f *Facts) any { n, _ := f.Store.WatchCounts(); return n }, watches),
	fact("clients_in_timeout_table", func(f *Facts) any { return f.Stats.Blocked.Timed.Load() }),
	fact("total_watched_keys", func(f *Facts) any { _, n := f.Store.WatchCounts(); return n }, watches),
	fact("total_blocking_keys", func(f *Facts) any { return f.Store.WaitedKeys() },
		extra("From Redis 7.2: keys that blocked connections wait for.")),
}

var watches = extra("From Redis 7.4: connections that watch keys, and the keys.")
