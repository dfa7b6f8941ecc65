package doctor

// turns say which scripts of a client are looked at. They call several commands each, in a
// fraction of the time that others take to arrive, so that a look at all of them would be
// felt. Once so many in a row had no problem, about one in 32 is looked at; that is drawn,
// since a client may send several scripts in turns. All are again as soon as one has a
// problem.
type turns struct {
	clean int
	drawn uint64
	skip  bool // the next one
}

const cleanScripts = 256

// next is called at the end of a script.
func (t *turns) next() {
	if t.clean < cleanScripts {
		t.clean++
		return
	}
	const multiplier, increment = 6364136223846793005, 1442695040888963407
	t.drawn = t.drawn*multiplier + increment
	t.skip = t.drawn>>59 != 0
}
