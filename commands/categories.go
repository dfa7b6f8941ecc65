package commands

import "slices"

// RateLimitCategory is the ACL category of RL.* and CL.THROTTLE, which Redis does not
// have.
const RateLimitCategory = "ratelimit"

// Categories are the ACL categories, without '@', in the order in which ACL CAT and
// COMMAND INFO list them: those of Redis 7.0, then our own.
var Categories = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string",
	"bitmap", "hyperloglog", "geo", "stream", "pubsub", "admin", "fast", "slow",
	"blocking", "dangerous", "connection", "transaction", "scripting",
	RateLimitCategory,
}

// groupCategories are the groups of COMMAND DOCS whose members share an ACL category.
// The rows of other groups ("server", "cluster") name theirs.
var groupCategories = map[string]string{
	"bitmap":       "bitmap",
	"connection":   "connection",
	"generic":      "keyspace",
	"hash":         "hash",
	"list":         "list",
	"rate-limit":   RateLimitCategory,
	"scripting":    "scripting",
	"set":          "set",
	"sorted-set":   "sortedset",
	"string":       "string",
	"transactions": "transaction",
}

// A CategorySet is a set of ACL categories: bit i is for Categories[i].
type CategorySet uint32

// CategorySetOf returns the set of the categories with these names, without '@'.
// Names that are not in Categories are left out.
func CategorySetOf(names ...string) (set CategorySet) {
	for _, name := range names {
		if i := slices.Index(Categories, name); i >= 0 {
			set |= 1 << i
		}
	}
	return set
}

// Has reports whether the set has one of the others' categories.
func (s CategorySet) Has(others CategorySet) bool { return s&others != 0 }

// Names returns the names of the set's categories in the order of Categories.
func (s CategorySet) Names() (names []string) {
	for i, name := range Categories {
		if s>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return names
}

// replaceGroup are the categories that stand instead of the one of its group when a row
// names them, as for SORT and WAIT.
var replaceGroup = CategorySetOf("connection", "hash", "list", "set", "sortedset", "string")

// scriptingCategory keeps read-only scripts out of @read: "+@read" must not allow scripts.
var scriptingCategory = CategorySetOf("scripting")

// flagCategories are the categories that the flags of a command put it in.
var flagCategories = []struct {
	flag       Flags
	categories CategorySet
}{
	{Write, CategorySetOf("write")},
	{Admin, CategorySetOf("admin", "dangerous")},
	{PubSub, CategorySetOf("pubsub")},
	{Blocking, CategorySetOf("blocking")},
	{Fast, CategorySetOf("fast")},
}

// slowCategory and readCategory are for the commands that are not Fast, and for those
// that are ReadOnly and no scripts.
var (
	slowCategory = CategorySetOf("slow")
	readCategory = CategorySetOf("read")
)

// ACLCategories returns the command's ACL categories: those of its flags and its group,
// and those that its row adds. As in Redis, the group of a container is about its
// subcommands only.
func (c *Command) ACLCategories() CategorySet {
	set := CategorySetOf(c.Categories...)
	if (c.Subs == nil || c.Handler != nil) && !set.Has(replaceGroup) {
		set |= CategorySetOf(groupCategories[c.Group])
	}
	if c.Is(ReadOnly) && !set.Has(scriptingCategory) {
		set |= readCategory
	}
	for _, f := range flagCategories {
		if c.Is(f.flag) {
			set |= f.categories
		}
	}
	if !c.Is(Fast) {
		set |= slowCategory
	}
	return set
}
