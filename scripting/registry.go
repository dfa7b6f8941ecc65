package scripting

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A registry holds the loaded libraries. A replaced or deleted library is not
// changed, so that a call in it can go on.
type registry struct {
	mu        sync.RWMutex                // protects the fields below, which are replaced, not changed
	libraries []*library                  // in order of loading
	byName    map[string]*libraryFunction // by name in lower case
}

func (r *registry) snapshot() ([]*library, map[string]*libraryFunction) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.libraries, r.byName
}

func (r *registry) all() []*library {
	all, _ := r.snapshot()
	return all
}

func (r *registry) lookup(function string) *libraryFunction {
	_, byName := r.snapshot()
	return byName[strings.ToLower(function)]
}

func libraryIndex(all []*library, name string) int {
	return slices.IndexFunc(all, func(lib *library) bool { return lib.name == name })
}

func (r *registry) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.libraries, r.byName = nil, nil
}

func (r *registry) remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := libraryIndex(r.libraries, name)
	if i < 0 {
		return false
	}
	all := slices.Delete(slices.Clone(r.libraries), i, i+1)
	byName, _ := functionsOf(all)
	r.libraries, r.byName = all, byName
	return true
}

// add adds all of libs or none. With flush they replace all libraries; with
// replace each may replace the library of its name. Several must not hold more bytes than
// limit in all, unless that is 0.
func (r *registry) add(libs []*library, flush, replace bool, limit int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*library
	if !flush {
		all = slices.Clone(r.libraries)
	}
	for _, lib := range libs {
		switch i := libraryIndex(all, lib.name); {
		case i < 0:
			all = append(all, lib)
		case replace:
			all[i] = lib
		default:
			return fmt.Errorf(errLibraryCollides, lib.name)
		}
	}
	byName, err := functionsOf(all)
	if err != nil {
		return err
	}
	if held := heldBy(all); len(all) > 1 && limit > 0 && held > limit {
		return fmt.Errorf(errLibraryMemory, held, limit)
	}
	r.libraries, r.byName = all, byName
	return nil
}

func functionsOf(all []*library) (map[string]*libraryFunction, error) {
	byName := make(map[string]*libraryFunction)
	for _, lib := range all {
		for _, f := range lib.functions {
			key := strings.ToLower(f.name())
			if byName[key] != nil {
				return nil, fmt.Errorf(errFunctionCollides, f.name())
			}
			byName[key] = f
		}
	}
	return byName, nil
}
