package main

// storageRows returns what keeping data costs. They are measured by name, or with the matrix: they write
// gigabytes.
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
	return []row{allow, add, everysec("everysec-set-16", "SET of 16 bytes", set)}
}

// logFlags switches the append-only log on, in a directory of the row's own. Rewrites would fall into some
// rounds only.
func logFlags(row, fsync string) []string {
	return []string{
		"--appendonly", "yes", "--appendfsync", fsync, "--appenddirname", row,
		"--auto-aof-rewrite-percentage", "0",
	}
}
