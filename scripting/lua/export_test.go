package lua

// RemoveDirect makes every call of a library function one of its GoFunction.
func (s *State) RemoveDirect() {
	for name := range directFunctions {
		v := s.Globals.GetString(name.global)
		if name.field != "" {
			v = v.Table().GetString(name.field)
		}
		v.Function().host.direct = nil
	}
}
