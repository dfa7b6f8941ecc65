package info

func writeUpstream(f *Facts, w *writer) {
	for _, fact := range f.Upstream {
		w.put(fact.Name, fact.Value)
	}
}
