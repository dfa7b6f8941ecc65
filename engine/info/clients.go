package info

func writeClients(f *Facts, w *writer) {
	c := &f.Clients
	w.put("connected_clients", c.Sessions)
	w.put("cluster_connections", 0)
	w.put("maxclients", f.Config.Int("maxclients"))
	w.put("client_recent_max_input_buffer", c.LargestInput)
	w.put("client_recent_max_output_buffer", c.LargestOutput)
	w.put("blocked_clients", f.Stats.Blocked.Load())
	w.put("tracking_clients", c.Tracking)
	w.put("pubsub_clients", c.Subscribed)
	w.put("watching_clients", c.Watching)
	w.put("clients_in_timeout_table", f.Stats.TimedWaits.Load())
	w.put("total_watched_keys", c.Watched)
	w.put("total_blocking_keys", c.Awaited)
}
