package info

import "github.com/zlimit/zlimit/engine/process"

func writeMemory(f *Facts, w *writer) {
	facts := &f.Memory
	m, h := &facts.Use, &facts.Heap
	used, peak, resident := facts.Used, facts.Peak, facts.Resident
	overhead, dataset := facts.Overhead(), facts.Dataset()
	w.bytes("used_memory", used)
	w.bytes("used_memory_rss", resident)
	w.bytes("used_memory_peak", peak)
	w.percent("used_memory_peak_perc", used, peak)
	w.put("used_memory_overhead", overhead)
	w.put("used_memory_startup", m.Startup)
	w.put("used_memory_dataset", dataset)
	w.percent("used_memory_dataset_perc", dataset, used-m.Startup)
	w.put("allocator_allocated", h.Allocated)
	w.put("allocator_active", h.Active)
	w.put("allocator_resident", h.Mapped)
	w.bytes("total_system_memory", process.MachineBytes())

	scripts, libraries := &facts.Scripts, &facts.Libraries
	w.bytesAs("used_memory_lua", scripts.Idle, func() { w.put("used_memory_vm_eval", scripts.Idle) })
	w.put("used_memory_scripts_eval", scripts.Bytes)
	w.put("number_of_cached_scripts", scripts.Cached)
	w.put("number_of_functions", libraries.Functions)
	w.put("number_of_libraries", libraries.Libraries)
	w.put("used_memory_vm_functions", libraries.Held)
	w.bytes("used_memory_vm_total", scripts.Idle+libraries.Held)
	w.put("used_memory_functions", libraries.Bytes)
	w.bytes("used_memory_scripts", scripts.Bytes+libraries.Bytes)
	w.bytes("maxmemory", facts.Max)
	w.put("maxmemory_policy", facts.Policy)
	w.put("maxmemory_reserve", facts.Reserve)

	w.ratio("allocator_frag_ratio", h.Active, h.Allocated)
	w.put("allocator_frag_bytes", h.Active-h.Allocated)
	w.ratio("allocator_rss_ratio", h.Mapped, h.Active)
	w.put("allocator_rss_bytes", h.Mapped-h.Active)
	w.ratio("rss_overhead_ratio", resident, h.Mapped)
	w.put("rss_overhead_bytes", resident-h.Mapped)
	w.ratio("mem_fragmentation_ratio", resident, used)
	w.put("mem_fragmentation_bytes", resident-used)
	w.put("mem_not_counted_for_evict", m.Log+m.Replicas)
	w.put("mem_replication_backlog", m.Backlog)
	w.put("mem_total_replication_buffers", m.Backlog+m.Replicas)
	w.put("mem_clients_slaves", m.Replicas)
	w.put("mem_clients_normal", m.Clients)
	w.put("mem_cluster_links", 0)
	w.put("mem_aof_buffer", m.Log)
	w.put("mem_rl_doctor", m.Doctor)
	w.put("mem_rl_top", m.Top)
	w.put("mem_rl_trace", m.Traces)
	w.put("mem_allocator", "go")
	w.put("active_defrag_running", 0)
	w.put("lazyfree_pending_objects", 0)
	w.put("lazyfreed_objects", 0)
	w.put("gc_cycles", h.Collections)
}
