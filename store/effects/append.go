package effects

const (
	multi = "*1\r\n$5\r\nMULTI\r\n"
	exec  = "*1\r\n$4\r\nEXEC\r\n"
)

// AppendTo appends the group, without messages, to a log in which database db is selected, or -1 for none,
// and returns the database that is selected afterwards.
func (g *Group) AppendTo(buf []byte, db int) (out []byte, selected int) {
	return g.appendTo(buf, db, false)
}

// AppendAllTo is AppendTo with messages.
func (g *Group) AppendAllTo(buf []byte, db int) (out []byte, selected int) {
	return g.appendTo(buf, db, true)
}

func (g *Group) appendTo(buf []byte, db int, messages bool) (out []byte, selected int) {
	for i := 0; i < len(g.commands); {
		end, n := i, 0
		for ; end < len(g.commands) && (end == i || !g.commands[end].first); end++ {
			if messages || !g.commands[end].message {
				n++
			}
		}
		begun := false
		for ; i < end; i++ {
			c := &g.commands[i]
			if c.message && !messages {
				continue
			}
			if c.db != db {
				db = c.db
				buf = appendSelect(buf, db)
			}
			if n > 1 && !begun {
				buf = append(buf, multi...)
			}
			begun = true
			buf = append(buf, g.bytes[c.start:g.endOf(i)]...)
		}
		if n > 1 {
			buf = append(buf, exec...)
		}
	}
	return buf, db
}

// AppendBareTo is AppendTo without MULTI and EXEC. whole reports whether AppendTo would have added any: then
// a reader must not run a part of what was appended.
func (g *Group) AppendBareTo(buf []byte, db int) (out []byte, selected int, whole bool) {
	if g.messages == 0 && !g.mixed && len(g.commands) > 0 {
		if to := g.commands[0].db; to != db {
			db = to
			buf = appendSelect(buf, db)
		}
		return append(buf, g.bytes...), db, len(g.commands) > g.parts
	}
	inPart := 0
	for i := range g.commands {
		c := &g.commands[i]
		if c.first {
			inPart = 0
		}
		if c.message {
			continue
		}
		inPart++
		whole = whole || inPart > 1
		if c.db != db {
			db = c.db
			buf = appendSelect(buf, db)
		}
		buf = append(buf, g.bytes[c.start:g.endOf(i)]...)
	}
	return buf, db, whole
}

// endOf returns where a command ends in bytes.
func (g *Group) endOf(i int) int {
	if i+1 < len(g.commands) {
		return g.commands[i+1].start
	}
	return len(g.bytes)
}

func appendSelect(b []byte, db int) []byte {
	return appendInt(append(b, "*2\r\n$6\r\nSELECT\r\n"...), int64(db))
}
