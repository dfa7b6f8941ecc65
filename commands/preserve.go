package commands

// preserve passes the keys that the call may change to the snapshot in progress. For
// keys of other databases, the store does this itself.
func (c *Ctx) preserve() {
	if !c.Cmd.Writes(c.Args) {
		return
	}
	c.scratch.keys = c.Cmd.AppendKeys(c.scratch.keys[:0], c.Args)
	for _, key := range c.scratch.keys {
		c.DB.Preserve(key)
	}
	clear(c.scratch.keys)
}
