// Package crashdisk is a disk.FS in memory that power can be cut to. For tests.
package crashdisk

import "github.com/zlimit/zlimit/persist/disk"

var _ disk.FS
