//go:build !unix

package process

// Times returns the processor time of the process and that of its children. On this
// system it is unknown.
func Times() (own, children CPUTime) { return CPUTime{}, CPUTime{} }
