package expire

import "fmt"

// check checks the invariants: the order of the bounds, and the numbers of groups and runs.
func (x *Index) check() error {
	n := len(x.groups)
	if n&(n-1) != 0 || len(x.runs) != (n+runLen-1)/runLen {
		return fmt.Errorf("%d groups in %d runs", n, len(x.runs))
	}
	for i, b := range x.groups {
		if x.runs[i/runLen] > b {
			return fmt.Errorf("group %d is due at %d, its run at %d", i, b, x.runs[i/runLen])
		}
	}
	for i, b := range x.runs {
		if x.all > b {
			return fmt.Errorf("run %d is due at %d, all at %d", i, b, x.all)
		}
	}
	if x.next < 0 || n > 0 && x.next > len(x.runs)*runLen {
		return fmt.Errorf("next is group %d of %d", x.next, n)
	}
	return nil
}
