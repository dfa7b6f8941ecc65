package zset

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// deferringSoon makes changes of more than 8 members leave work, in leaves of leafMembers, until the test
// ends.
func deferringSoon(t *testing.T, leafMembers int) {
	from, atOnce := deferFrom, listedAtOnce
	deferFrom, listedAtOnce = 8, leafMembers
	t.Cleanup(func() { deferFrom, listedAtOnce = from, atOnce })
}

// What is left to do is nobody's concern: every query answers as the model does, at any time before it is
// done.
func TestModelWithWorkLeft(t *testing.T) {
	deferringSoon(t, 16)
	const seed = 5
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	unlisted, dead := 0, 0
	for i := range race.Fewer(8) {
		h := &history{program: randomProgram(rng, 1500+rng.IntN(5000)), now: int64(i) * 1e12}
		require.NoError(t, h.run(false, 50), "log of program %d", i)
		for range 500 {
			v := h.now + 1 + rng.Int64N(100_000)
			require.NoError(t, h.add(decimal(v), float64(v)))
		}
		h.set.convertToTree()
		require.NoError(t, h.set.check())
		for h.set.Unfinished() && i%2 == 0 {
			h.set.Finish(100)
		}
		for range 40 {
			if n := h.set.Len(); n > 100 && rng.IntN(4) == 0 {
				start := rng.IntN(n)
				stop := start + rng.IntN(n/3)
				require.Equal(t, h.model.removeRanks(start, stop), h.set.RemoveByRank(start, stop))
				require.NoError(t, h.set.check())
			}
			h.program = randomProgram(rng, 120)
			require.NoError(t, h.run(true, 7), "program %d", i)
			if h.set.kind != kindTree {
				break
			}
			unlisted += min(h.set.tree().rest.unlisted, 1)
			dead += min(h.set.tree().rest.dead, 1)
			if rng.IntN(2) == 0 {
				before := h.set.Len()
				done := h.set.Finish(rng.IntN(20))
				require.Equal(t, before, h.set.Len())
				require.LessOrEqual(t, done, 20+16)
				require.NoError(t, h.set.check())
			}
		}
		for h.set.Unfinished() {
			require.Positive(t, h.set.Finish(100))
		}
		require.NoError(t, h.set.check())
		require.NoError(t, compare(&h.set, &h.model, rng.IntN))
	}
	t.Logf("%d stretches ended with unlisted members, %d with dead nodes", unlisted, dead)
	require.Positive(t, unlisted)
	require.Positive(t, dead)
}

// A name that sorts before the number of the same score, with which an unlisted leaf begins, belongs to the
// leaf before it, which may be unlisted, too.
func TestNameBeforeUnlistedLeaf(t *testing.T) {
	deferringSoon(t, 16)
	for _, name := range []string{"!", "", "-", "a name"} {
		s := logOf(200)
		model := text(s)
		at := s.At(100 / 16 * 16)
		s.convertToTree()
		s.Add([]byte(name), at.Score)
		require.NoError(t, s.check(), "%q", name)
		rank, ok := s.Rank([]byte(name))
		require.True(t, ok, "%q", name)
		require.Equal(t, name, string(s.At(rank).AppendMember(nil)))
		require.Equal(t, 201, s.Len())
		for s.Unfinished() {
			s.Finish(7)
			require.NoError(t, s.check(), "%q", name)
		}
		_, ok = s.Remove([]byte(name))
		require.True(t, ok, "%q", name)
		require.Equal(t, model, text(s), "%q", name)
	}
}

func TestScanGuaranteeWithWorkLeft(t *testing.T) {
	deferringSoon(t, 64)
	rng := rand.New(rand.NewPCG(6, 0))
	for range race.Fewer(10) {
		var s Set
		finishing := func(s *Set, cursor uint64, fn func(Entry)) uint64 {
			s.Finish(rng.IntN(10))
			return s.Scan(cursor, fn)
		}
		missed, err := scanHistory(&s, rng, true, finishing)
		require.NoError(t, err)
		require.Zero(t, missed)
	}
}

func TestFrozenSetDoesNotChangeWithWorkLeft(t *testing.T) {
	deferringSoon(t, 64)
	for seed := range uint64(race.Fewer(5)) {
		rng := rand.New(rand.NewPCG(seed, 21))
		x := &freezeTest{set: logOf(5000)}
		x.set.Add([]byte("a name"), 1)
		x.tree = true
		for range 50 {
			x.run(rng, 8)
			x.set.Finish(rng.IntN(200))
		}
		require.NoError(t, x.set.check())
		require.NotEmpty(t, x.frozen)
		require.True(t, x.intact(), "seed %d", seed)
		clone := x.set.Clone()
		require.Equal(t, text(x.set), text(clone))
	}
}

// A change of a million members makes or removes no node for most of them: they are left to steps, of which
// none does more than it is asked for and a leaf.
func TestWorkAtOnce(t *testing.T) {
	const n, step = 1_000_000, 64
	nodes := func(s *Set) int { return s.tree().index.Len() }
	log := new(Set)
	for i := range int64(n) {
		log.AppendRun(i*7, 1)
	}
	log.Add([]byte("a name"), 500_000)
	require.LessOrEqual(t, nodes(log), 1+listedAtOnce)
	finish := func(s *Set) (steps int) {
		for s.Unfinished() {
			before := nodes(s)
			require.LessOrEqual(t, s.Finish(step), step+listedAtOnce)
			require.LessOrEqual(t, max(nodes(s)-before, before-nodes(s)), step+listedAtOnce)
			steps++
		}
		return steps
	}
	t.Logf("%d steps list a million hits", finish(log))
	require.Equal(t, n+1, nodes(log))
	require.Equal(t, n+1, log.Len())

	require.Equal(t, n/2, log.RemoveByRank(n/4, n/4+n/2))
	require.Equal(t, n/2+1, log.Len())
	require.GreaterOrEqual(t, nodes(log), n+1-2*leafSize)
	t.Logf("%d steps unlink half of them", finish(log))
	require.Equal(t, n/2+1, nodes(log))

	require.Equal(t, n/2-9, log.RemoveByRank(0, n/2-9)) // ten remain, in a new index
	require.False(t, log.Unfinished())
	require.Equal(t, 10, nodes(log))
}

// The memory of what is left to do is counted until it is done.
func TestMemoryWithWorkLeft(t *testing.T) {
	s := logOf(100_000)
	before := s.Memory()
	s.Add([]byte("a name"), 1)
	require.InEpsilon(t, before, s.Memory(), 0.5)
	for s.Unfinished() {
		s.Finish(1000)
	}
	full := s.Memory()
	s.RemoveByRank(10_000, 60_000)
	require.InEpsilon(t, full, s.Memory(), 0.05)
	for s.Unfinished() {
		s.Finish(1000)
	}
	var again Set
	s.Ascend(0, func(e Entry) bool {
		again.Add(e.AppendMember(nil), e.Score)
		return true
	})
	require.InEpsilon(t, again.Memory(), s.Memory(), 0.15)
}
