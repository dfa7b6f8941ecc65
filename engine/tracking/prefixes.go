package tracking

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/engine/pubsub"
)

// prefixes are the prefixes of the clients in BCAST mode. A command that
// changes keys reads them without a lock; a client that enters or leaves replaces
// the set by a copy.
type prefixes struct {
	mu  sync.Mutex // held while the set is replaced
	now atomic.Pointer[prefixSet]
}

// A prefixSet is immutable.
type prefixSet struct {
	clients map[string][]*Mode // by prefix; no slice is empty
	lengths []int              // the distinct lengths of the prefixes
}

// load returns the present prefixes, nil if there are none.
func (p *prefixes) load() *prefixSet { return p.now.Load() }

// len returns the number of prefixes.
func (p *prefixes) len() int {
	if set := p.load(); set != nil {
		return len(set.clients)
	}
	return 0
}

// replace replaces a client's last mode, which may be nil, by its next, which may be
// nil.
func (p *prefixes) replace(last, next *Mode) {
	if (last == nil || len(last.prefixes) == 0) && (next == nil || len(next.prefixes) == 0) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	clients := make(map[string][]*Mode)
	if set := p.load(); set != nil {
		maps.Copy(clients, set.clients)
	}
	if last != nil {
		for _, prefix := range last.prefixes {
			rest := slices.DeleteFunc(slices.Clone(clients[prefix]),
				func(m *Mode) bool { return m == last })
			delete(clients, prefix) // its name belongs to last
			if len(rest) > 0 {
				clients[rest[0].own(prefix)] = rest
			}
		}
	}
	if next != nil {
		for _, prefix := range next.prefixes {
			clients[prefix] = append(slices.Clip(clients[prefix]), next)
		}
	}
	if len(clients) == 0 {
		p.now.Store(nil)
		return
	}
	set := &prefixSet{clients: clients}
	for prefix := range clients {
		if !slices.Contains(set.lengths, len(prefix)) {
			set.lengths = append(set.lengths, len(prefix))
		}
	}
	p.now.Store(set)
}

// own returns the mode's own copy of one of its prefixes.
func (m *Mode) own(prefix string) string {
	i, _ := slices.BinarySearch(m.prefixes, prefix)
	return m.prefixes[i]
}

// A broadcastChange is a key that changed and the client that changed it, nil for
// scripts and for keys that expired.
type broadcastChange struct {
	key string
	by  *pubsub.Subscriber
}

// matches reports whether a key has one of the prefixes.
func (set *prefixSet) matches(key []byte) bool {
	for _, n := range set.lengths {
		if n <= len(key) && set.clients[string(key[:n])] != nil {
			return true
		}
	}
	return false
}

// match calls send for each prefix that one of the changes has, sorted, with the
// prefix' clients and those changes, sorted by key. Of the changes of one key the
// last counts.
func (set *prefixSet) match(
	changes []broadcastChange,
	send func(clients []*Mode, changes []broadcastChange),
) {
	slices.SortStableFunc(changes, func(a, b broadcastChange) int { return strings.Compare(a.key, b.key) })
	found := make(map[string][]broadcastChange)
	for i, c := range changes {
		if i+1 < len(changes) && changes[i+1].key == c.key {
			continue
		}
		for _, n := range set.lengths {
			if n > len(c.key) {
				continue
			}
			if prefix := c.key[:n]; set.clients[prefix] != nil {
				found[prefix] = append(found[prefix], c)
			}
		}
	}
	for _, prefix := range slices.Sorted(maps.Keys(found)) {
		send(set.clients[prefix], found[prefix])
	}
}
