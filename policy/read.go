package policy

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of what is read.
const (
	MaxFileBytes = 16 << 20
	maxNodes     = 1_000_000 // of YAML, in all files
	maxPolicies  = 100_000
)

// A File is the content of one file.
type File struct {
	Name string
	Data []byte
}

// A ReadError is a mistake in a file. Its text is Envoy's rate limit service's, where that has one.
type ReadError struct {
	File string
	Line int // 0: unknown
	Text string
}

// Error returns the file, the line and the text.
func (e *ReadError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Text
}

// Check returns the error of a term without cost, TERM limit window ... ALGO name or TERM SLOTS max LEASE ms,
// or nil.
type Check func(term [][]byte) error

// Read reads files: each document of each is a domain. It fails with a *ReadError. Decisions are counted in
// registry from then on, which may have the counts of an earlier Set.
func Read(files []File, registry *Registry, check Check) (*Set, error) {
	set := &Set{domains: make(map[string]*Domain), registry: registry}
	r := &reader{set: set, check: check, checked: make(map[string]error)}
	for _, f := range files {
		if err := r.readFile(f); err != nil {
			return nil, err
		}
	}
	if len(set.policies) > maxPolicies {
		return nil, fmt.Errorf("more than %d limits", maxPolicies)
	}
	registry.adopt(set.policies)
	return set, nil
}

// A reader reads files into a Set.
type reader struct {
	set     *Set
	check   Check
	checked map[string]error // the results of check
	file    string
	nodes   int
}

// yamlLine finds the line in the texts of the YAML library's errors.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (r *reader) readFile(f File) error {
	r.file = f.Name
	if len(f.Data) > MaxFileBytes {
		return r.errorf(0, "a file is at most %d bytes", MaxFileBytes)
	}
	decoder, documents := yaml.NewDecoder(strings.NewReader(string(f.Data))), 0
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			at, text := 0, err.Error()
			if found := yamlLine.FindStringSubmatch(text); found != nil {
				at, _ = strconv.Atoi(found[1])
				text = text[len(found[0]):]
			}
			return r.errorf(at, "error loading config file: %s", text)
		}
		documents++
		if err := r.readDocument(&document); err != nil {
			return err
		}
	}
	if documents == 0 {
		return r.errorf(0, "config file cannot have empty domain")
	}
	return nil
}

func (r *reader) errorf(line int, format string, args ...any) error {
	return &ReadError{r.file, line, fmt.Sprintf(format, args...)}
}

func (r *reader) warnf(line int, format string, args ...any) {
	r.set.warnings = append(r.set.warnings, r.errorf(line, format, args...).Error())
}

func (r *reader) readDocument(document *yaml.Node) error {
	root := document
	if root.Kind == yaml.DocumentNode {
		root = root.Content[0]
	}
	root, err := r.resolve(root)
	if err != nil {
		return err
	}
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return r.errorf(root.Line, "config file cannot have empty domain")
	}
	if root.Kind != yaml.MappingNode {
		return r.errorf(root.Line, "error loading config file: a domain is expected, not %s", kindOf(root))
	}
	before := r.nodes
	if err := r.checkKeys(root, 0); err != nil {
		return err
	}
	r.nodes = before // the same elements are read again
	var in domainFields
	if err := domainTable.read(r, root, &in, "the root"); err != nil {
		return err
	}
	return r.addDomain(root.Line, &in)
}

// resolve returns the node that an alias stands for, and counts nodes: aliases may stand for many.
func (r *reader) resolve(n *yaml.Node) (*yaml.Node, error) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if r.nodes++; r.nodes > maxNodes {
		return nil, r.errorf(n.Line, "the files have more than %d elements", maxNodes)
	}
	return n, nil
}

// maxDepth is how deep mappings may be nested: as deep as a descriptor may be, and what its limit has.
const maxDepth = MaxEntries + 2

// checkKeys fails if a key anywhere is none of those of a file, or a value is of a kind that no key has.
func (r *reader) checkKeys(n *yaml.Node, depth int) error {
	if depth > maxDepth {
		return r.errorf(n.Line, "descriptors are nested deeper than %d", MaxEntries)
	}
	fields, err := r.fields(n)
	if err != nil {
		return err
	}
	for _, f := range fields {
		switch {
		case f.key.Kind != yaml.ScalarNode || f.key.Tag != "!!str":
			return r.errorf(f.key.Line, "config error, key is not of type string: %s", f.key.Value)
		case !known[f.key.Value]:
			return r.errorf(f.key.Line, "config error, unknown key '%s'", f.key.Value)
		}
		switch v := f.value; v.Kind {
		case yaml.MappingNode:
			if err := r.checkKeys(v, depth+1); err != nil {
				return err
			}
		case yaml.SequenceNode:
			for _, e := range v.Content {
				if e, err = r.resolve(e); err != nil {
					return err
				}
				if e.Kind != yaml.MappingNode {
					return r.errorf(e.Line, "config error, yaml file contains list of type "+
						"other than map: %s", e.Value)
				}
				if err := r.checkKeys(e, depth+1); err != nil {
					return err
				}
			}
		case yaml.ScalarNode:
			if err := r.checkScalar(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkScalar fails for fractions, and integers that Envoy's rate limit service cannot have either.
func (r *reader) checkScalar(n *yaml.Node) error {
	var value any
	if err := n.Decode(&value); err != nil {
		return r.errorf(n.Line, "error loading config file: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	switch value.(type) {
	case float64, uint64:
		return r.errorf(n.Line, "error checking config: %s is not a string, an integer of 64 bits, "+
			"true or false", n.Value)
	}
	return nil
}

// A field is a key of a mapping and its value.
type field struct{ key, value *yaml.Node }

// fields returns the fields of a mapping, with those of merged mappings. Of a key that is given twice the
// last counts, also if a merge has it: so it is in Envoy's rate limit service.
func (r *reader) fields(n *yaml.Node) (all []field, err error) {
	at := make(map[string]int, len(n.Content)/2)
	put := func(f field) {
		if i, twice := at[f.key.Value]; twice && f.key.Kind == yaml.ScalarNode {
			all[i].value = f.value
			return
		}
		at[f.key.Value] = len(all)
		all = append(all, f)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := r.resolve(n.Content[i])
		if err != nil {
			return nil, err
		}
		value, err := r.resolve(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		if key.Tag != "!!merge" {
			put(field{key, value})
			continue
		}
		merged, err := r.merged(value)
		if err != nil {
			return nil, err
		}
		for _, f := range merged {
			put(f)
		}
	}
	return all, nil
}

// merged returns the fields of what is merged: a mapping, or a list of them, whose first counts.
func (r *reader) merged(n *yaml.Node) (all []field, err error) {
	switch n.Kind {
	case yaml.MappingNode:
		return r.fields(n)
	case yaml.SequenceNode:
		for i := range n.Content {
			e, err := r.resolve(n.Content[len(n.Content)-1-i])
			if err != nil {
				return nil, err
			}
			if e.Kind != yaml.MappingNode {
				return nil, r.errorf(e.Line, errMerge)
			}
			fields, err := r.fields(e)
			if err != nil {
				return nil, err
			}
			all = append(all, fields...)
		}
		return all, nil
	}
	return nil, r.errorf(n.Line, errMerge)
}

const errMerge = "error loading config file: map merge requires map or sequence of maps as the value"

// kindOf names what a node is in errors.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(n.Value)
}

// A table has the fields of a mapping that a T is read from.
type table[T any] map[string]setter[T]

// read reads a mapping. Keys of Envoy's that belong elsewhere have no effect: they are warned of.
func (t table[T]) read(r *reader, n *yaml.Node, into *T, where string) error {
	fields, err := r.fields(n)
	if err != nil {
		return err
	}
	for _, f := range fields {
		set := t[f.key.Value]
		if set == nil && !envoys[f.key.Value] {
			return r.errorf(f.key.Line, "config error, unknown key '%s' in %s", f.key.Value, where)
		}
		if set == nil {
			r.warnf(f.key.Line, "%s has no effect in %s", f.key.Value, where)
			continue
		}
		if err := set(r, f.value, into); err != nil {
			return err
		}
	}
	return nil
}

// envoys are the keys of Envoy's rate limit configuration.
var envoys = map[string]bool{
	"domain": true, "descriptors": true, "key": true, "value": true, "rate_limit": true, "unit": true,
	"requests_per_unit": true, "unlimited": true, "name": true, "replaces": true, "shadow_mode": true,
	"quota_mode": true, "detailed_metric": true, "value_to_metric": true, "share_threshold": true,
}

// known are the keys of files. It completes the tables first.
var known = func() map[string]bool {
	all := make(map[string]bool)
	nested()
	for _, names := range [][]string{
		slices.Collect(maps.Keys(domainTable)), slices.Collect(maps.Keys(descriptorTable)),
		slices.Collect(maps.Keys(rateLimitTable)), slices.Collect(maps.Keys(replacesTable)),
		slices.Collect(maps.Keys(quotaTable)), slices.Collect(maps.Keys(concurrencyTable)),
		slices.Collect(maps.Keys(actionsTable)), slices.Collect(maps.Keys(actionTable)),
		slices.Collect(maps.Keys(genericTable)), slices.Collect(maps.Keys(headerTable)),
	} {
		for _, name := range names {
			all[name] = true
		}
	}
	return all
}()
