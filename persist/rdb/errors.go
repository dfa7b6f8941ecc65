package rdb

import "errors"

// Errors of what is read. The ones that Read returns say where.
var (
	ErrCorrupt     = errors.New("corrupt")
	ErrUnsupported = errors.New("not supported")
	ErrVersion     = errors.New("not a version that can be read")
)
