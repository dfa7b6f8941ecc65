//go:build !unix

package disk

import "io/fs"

func access(string, uint32) error { return nil } // nothing is known

func renamable(string, fs.FileInfo) error { return nil }
