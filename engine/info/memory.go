package info

import (
	"github.com/zlimit/zlimit/engine/memory"
	"github.com/zlimit/zlimit/engine/process"
)

var memoryRows = []row{
	fact("used_memory", func(f *Facts) any { return bytes(f.Use().Used()) },
		gauge("zlimit_used_memory_bytes", "Memory of keys, values and buffers.")),
	fact("used_memory_rss", func(f *Facts) any { return bytes(f.Memory().Resident) }, differs(
		"Resident memory of the process; where the system does not tell it, what Go has from the system.")),
	fact("used_memory_peak", func(f *Facts) any { return bytes(f.Memory().Peak) }),
	fact("used_memory_peak_perc", func(f *Facts) any { return share(f.Use().Used(), f.Memory().Peak) }),
	fact("used_memory_overhead", func(f *Facts) any { return f.Memory().Overhead() }),
	fact("used_memory_startup", func(f *Facts) any { return f.Use().Startup }),
	fact("used_memory_dataset", func(f *Facts) any { return f.Memory().Dataset() }),
	fact("used_memory_dataset_perc", func(f *Facts) any {
		return share(f.Memory().Dataset(), f.Use().Used()-f.Use().Startup)
	}),
	fact("allocator_allocated", func(f *Facts) any { return f.Memory().Heap.Allocated }, heap),
	fact("allocator_active", func(f *Facts) any { return f.Memory().Heap.Active }, heap),
	fact("allocator_resident", func(f *Facts) any { return f.Memory().Heap.Mapped }, heap),
	fact("total_system_memory", func(*Facts) any { return bytes(process.MachineBytes()) }),

	fact("used_memory_lua used_memory_vm_eval", func(f *Facts) any { return f.Memory().Scripts.Idle },
		interpreters),
	fact("used_memory_lua_human", func(f *Facts) any { return memory.Human(f.Memory().Scripts.Idle) }),
	fact("used_memory_scripts_eval", func(f *Facts) any { return f.Memory().Scripts.Bytes }),
	fact("number_of_cached_scripts", func(f *Facts) any { return f.Memory().Scripts.Cached }),
	fact("number_of_functions", func(f *Facts) any { return f.Memory().Libraries.Functions }),
	fact("number_of_libraries", func(f *Facts) any { return f.Memory().Libraries.Libraries }),
	fact("used_memory_vm_functions", func(f *Facts) any { return f.Memory().Libraries.Held }, interpreters),
	fact("used_memory_vm_total", func(f *Facts) any {
		return bytes(f.Memory().Scripts.Idle + f.Memory().Libraries.Held)
	}, interpreters),
	fact("used_memory_functions", func(f *Facts) any { return f.Memory().Libraries.Bytes }),
	fact("used_memory_scripts", func(f *Facts) any {
		return bytes(f.Memory().Scripts.Bytes + f.Memory().Libraries.Bytes)
	}),
	fact("maxmemory", func(f *Facts) any { return bytes(f.Room.MaxMemory()) },
		gauge("zlimit_maxmemory_bytes", "Limit of used memory, 0 if there is none.")),
	fact("maxmemory_policy", func(f *Facts) any { return f.Memory().Policy }),
	fact("maxmemory_reserve", func(f *Facts) any { return f.Memory().Reserve },
		extra("By how much keys are evicted earlier, to leave room for garbage.")),

	excess("allocator_frag", func(m *memory.Facts) (n, of int64) { return m.Heap.Active, m.Heap.Allocated }),
	excess("allocator_rss", func(m *memory.Facts) (n, of int64) { return m.Heap.Mapped, m.Heap.Active }),
	excess("rss_overhead", func(m *memory.Facts) (n, of int64) { return m.Resident, m.Heap.Mapped }),
	excess("mem_fragmentation", func(m *memory.Facts) (n, of int64) { return m.Resident, m.Used }),
	fact("mem_not_counted_for_evict", func(f *Facts) any { return f.Use().Log + f.Use().Replicas }),
	fact("mem_replication_backlog", func(f *Facts) any { return f.Use().Backlog }),
	fact("mem_total_replication_buffers", func(f *Facts) any { return f.Use().Backlog + f.Use().Replicas }),
	fact("mem_clients_slaves", func(f *Facts) any { return f.Use().Replicas }),
	fact("mem_clients_normal", func(f *Facts) any { return f.Use().Clients }),
	always("mem_cluster_links", 0, differs("0: there is no cluster.")),
	fact("mem_aof_buffer", func(f *Facts) any { return f.Use().Log }),
	fact("mem_rl_doctor", func(f *Facts) any { return f.Use().Doctor }, observers),
	fact("mem_rl_top", func(f *Facts) any { return f.Use().Top }, observers),
	fact("mem_rl_trace", func(f *Facts) any { return f.Use().Traces }, observers),
	always("mem_allocator", "go"),
	always("active_defrag_running", 0, differs("0: Go does not move objects.")),
	always("lazyfree_pending_objects lazyfreed_objects", 0,
		differs("0: whatever was removed is the collector's at once.")),
	fact("gc_cycles", func(f *Facts) any { return f.Memory().Heap.Collections },
		extra("Collections of Go's since the start.")),
}

var (
	heap = differs("Go's heap: objects, those that await collection included; their spans; " +
		"all that Go has from the system.")
	interpreters = differs("Interpreters that wait for a script, at 80 kB each; those of libraries, with " +
		"all that they hold, at most. They are not part of used_memory.")
	observers = extra("What RL.DOCTOR, RL.TOP and RL.TRACE keep.")
)

func share(part, whole int64) percent { return percent(memory.Ratio(part, whole) * 100) }

// excess returns the row of a ratio and a difference.
func excess(fields string, read func(m *memory.Facts) (n, of int64)) row {
	return family(fields, func(f *Facts, put put) {
		n, of := read(f.Memory())
		put("_ratio", ratio(memory.Ratio(n, of)))
		put("_bytes", n-of)
	})
}
