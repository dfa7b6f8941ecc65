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

// replacesGroup reports whether a category that a row names stands instead of the one
// of its group, as for SORT and WAIT.
func replacesGroup(category string) bool {
	return slices.Contains([]string{"connection", "hash", "list", "set", "sortedset", "string"}, category)
}

// ACLCategories returns the names, without '@', of the command's ACL categories, in
// the order of COMMAND INFO: those of its flags and its group, and those that its row
// adds. As in Redis, the group of a container is about its subcommands only.
func (c *Command) ACLCategories() []string {
	has := slices.Clone(c.Categories)
	if byGroup := groupCategories[c.Group]; byGroup != "" && (c.Subs == nil || c.Handler != nil) &&
		!slices.ContainsFunc(has, replacesGroup) {
		has = append(has, byGroup)
	}
	if c.Is(ReadOnly) && !slices.Contains(has, "scripting") {
		// A read-only script is not in @read: "+@read" must not allow scripts.
		has = append(has, "read")
	}
	if c.Is(Write) {
		has = append(has, "write")
	}
	if c.Is(Admin) {
		has = append(has, "admin", "dangerous")
	}
	if c.Is(PubSub) {
		has = append(has, "pubsub")
	}
	if c.Is(Blocking) {
		has = append(has, "blocking")
	}
	if c.Is(Fast) {
		has = append(has, "fast")
	} else {
		has = append(has, "slow")
	}

	var out []string
	for _, name := range Categories {
		if slices.Contains(has, name) {
			out = append(out, name)
		}
	}
	return out
}
