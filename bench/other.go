package main

// otherRows are the rows that are no closed loop.
func otherRows() []row { return nil }
