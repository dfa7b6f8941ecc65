package introspection

import (
	"slices"
	"strings"

	"github.com/zlimit/zlimit/resp"
)

// masked removes sentences from an answer. The notes of key specifications, summaries and
// complexities are worded by us, because Redis' own are not ours to copy, and the history
// of a command is not a fact about our rows.
func masked(e *exchange) resp.Value {
	switch {
	case e.isAbout("info"):
		return mapElems(e.reply, maskInfo)
	case e.isAbout("docs"):
		return maskDocs(e.reply)
	}
	return e.reply
}

// maskInfo masks the notes in an entry of COMMAND INFO, and in its subcommands'.
func maskInfo(entry resp.Value) resp.Value {
	fields := slices.Clone(entry.Elems())
	if len(fields) != 10 {
		return entry // null
	}
	const specs, subs = 8, 9
	fields[specs] = mapElems(fields[specs], func(spec resp.Value) resp.Value {
		pairs := slices.Clone(spec.Elems())
		if pairs[0].Str() == "notes" {
			pairs[1] = resp.Bulk("(masked)")
		}
		return sameKind(spec, pairs)
	})
	fields[subs] = mapElems(fields[subs], maskInfo)
	return resp.Array(fields...)
}

// docsDropped are the fields of COMMAND DOCS that rows do not hold.
var docsDropped = []string{"history", "doc_flags", "deprecated_since", "replaced_by"}

// maskDocs masks an answer of COMMAND DOCS: names, and fields of each.
func maskDocs(reply resp.Value) resp.Value {
	pairs := slices.Clone(reply.Elems())
	for i := 1; i < len(pairs); i += 2 {
		pairs[i] = editPairs(pairs[i], func(field string, v resp.Value) (resp.Value, bool) {
			switch field {
			case "summary", "complexity":
				v = resp.Bulk("(masked)")
			case "arguments":
				v = mapElems(v, maskArgument)
			case "subcommands":
				v = maskDocs(v)
			}
			return v, !slices.Contains(docsDropped, field)
		})
	}
	return sameKind(reply, pairs)
}

// maskArgument drops the version since which an argument exists: the notation of the
// syntax does not have it.
func maskArgument(argument resp.Value) resp.Value {
	return editPairs(argument, func(field string, v resp.Value) (resp.Value, bool) {
		if field == "arguments" {
			v = mapElems(v, maskArgument)
		}
		return v, field != "since" && field != "deprecated_since"
	})
}

// infoWithSubs keeps the subcommands whose full names are given and puts them in
// order: Redis' own is that of a hash table with a random seed.
func infoWithSubs(entry resp.Value, keep func(fullName string) bool) resp.Value {
	fields := slices.Clone(entry.Elems())
	if len(fields) != 10 {
		return entry
	}
	var subs []resp.Value
	for _, sub := range fields[9].Elems() {
		if keep(sub.Elems()[0].Str()) {
			subs = append(subs, sub)
		}
	}
	slices.SortFunc(subs, func(a,
		b resp.Value,
	) int {
		return strings.Compare(a.Elems()[0].Str(), b.Elems()[0].Str())
	})
	fields[9] = resp.Array(subs...)
	if len(subs) == 0 {
		fields[9] = resp.Set() // as Redis answers for none
	}
	return resp.Array(fields...)
}

// docsWithSubs is infoWithSubs for an answer of COMMAND DOCS.
func docsWithSubs(reply resp.Value, keep func(fullName string) bool) resp.Value {
	type named struct{ name, docs resp.Value }
	var entries []named
	for i, pairs := 0, reply.Elems(); i < len(pairs); i += 2 {
		if !keep(pairs[i].Str()) {
			continue
		}
		entries = append(entries, named{
			pairs[i],
			editPairs(pairs[i+1], func(field string, v resp.Value) (resp.Value, bool) {
				if field == "subcommands" {
					v = docsWithSubs(v, keep)
				}
				return v, field != "subcommands" || len(v.Elems()) > 0
			}),
		})
	}
	slices.SortStableFunc(entries, func(a,
		b named,
	) int {
		return strings.Compare(a.name.Str(), b.name.Str())
	})
	var out []resp.Value
	for _, e := range entries {
		out = append(out, e.name, e.docs)
	}
	return sameKind(reply, out)
}

// dropArguments removes the arguments of one row from an answer of COMMAND DOCS.
func dropArguments(reply resp.Value, fullName string) resp.Value {
	return editPairs(reply, func(name string, docs resp.Value) (resp.Value, bool) {
		return editPairs(docs, func(field string, v resp.Value) (resp.Value, bool) {
			if field == "subcommands" {
				v = dropArguments(v, fullName)
			}
			return v, field != "arguments" || name != fullName
		}), true
	})
}

// editPairs changes or drops the values of a map, or of a flat array as in RESP2.
func editPairs(v resp.Value, edit func(field string, v resp.Value) (resp.Value, bool)) resp.Value {
	var out []resp.Value
	for i, pairs := 0, v.Elems(); i+1 < len(pairs); i += 2 {
		if value, keep := edit(pairs[i].Str(), pairs[i+1]); keep {
			out = append(out, pairs[i], value)
		}
	}
	return sameKind(v, out)
}

func mapElems(v resp.Value, f func(resp.Value) resp.Value) resp.Value {
	var out []resp.Value
	for _, e := range v.Elems() {
		out = append(out, f(e))
	}
	return sameKind(v, out)
}

// sameKind returns an aggregate like v with other elements.
func sameKind(v resp.Value, elems []resp.Value) resp.Value {
	switch v.Kind() {
	case resp.KindArray:
		return resp.Array(elems...)
	case resp.KindSet:
		return resp.Set(elems...)
	case resp.KindMap:
		return resp.Map(elems...)
	}
	return v
}
