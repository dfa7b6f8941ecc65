//go:build !unix

package disk

import "io/fs"

// copyOwner does nothing: files have no owner in the sense of unix.
func copyOwner(fs.FileInfo, string) {}
