package tracking

import (
	"bytes"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// Error replies, byte for byte Redis 7.0's.
var (
	errRedirectTwice   = resp.Error("ERR A client can only redirect to a single other client")
	errRedirectNobody  = resp.Error("ERR The client ID you want redirect to does not exist")
	errPrefixAlone     = resp.Error("ERR PREFIX option requires BCAST mode to be enabled")
	errSwitchBroadcast = resp.Error("ERR You can't switch BCAST mode on/off before disabling tracking " +
		"for this client, and then re-enabling it with a different mode.")
	errBroadcastOpt = resp.Error("ERR OPTIN and OPTOUT are not compatible with BCAST")
	errOptBoth      = resp.Error("ERR You can't specify both OPTIN mode and OPTOUT mode")
	errSwitchOpt    = resp.Error("ERR You can't switch OPTIN/OPTOUT mode before disabling tracking " +
		"for this client, and then re-enabling it with a different mode.")
	errCachingUntracked = resp.Error("ERR CLIENT CACHING can be called only when the client is in " +
		"tracking mode with OPTIN or OPTOUT mode enabled")
	errCachingYes = resp.Error("ERR CLIENT CACHING YES is only valid when tracking is enabled in " +
		"OPTIN mode.")
	errCachingNo = resp.Error("ERR CLIENT CACHING NO is only valid when tracking is enabled in " +
		"OPTOUT mode.")
)

// errOverlap refuses a prefix by which a client would receive two invalidations for
// one key. As in C, a prefix ends at its first NUL in the text.
func errOverlap(prefix []byte, kind string, other []byte) resp.Value {
	return resp.Error("ERR Prefix '" + resp.CString(string(prefix)) + "' overlaps with " + kind +
		" prefix '" + resp.CString(string(other)) + "'. Prefixes for a single client must not overlap.")
}

// Parse returns the mode of CLIENT TRACKING, nil for OFF, or the error reply. args are those after
// the subcommand:
//
//	<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]
func (c *Client) Parse(args [][]byte) (next *Mode, refusal resp.Value) {
	next = &Mode{client: c.subscriber}
	var prefixes [][]byte
	if refusal := c.parseOptions(next, &prefixes, args[1:]); refusal.IsError() {
		return nil, refusal
	}
	switch {
	case commands.EqualFold(args[0], "off"):
		return nil, resp.None
	case !commands.EqualFold(args[0], "on"):
		return nil, commands.ErrSyntax
	}
	last := c.Mode()
	if refusal := next.refusal(last, prefixes); refusal.IsError() {
		return nil, refusal
	}
	if next.bcast {
		next.prefixes = joinPrefixes(last, prefixes)
	}
	if next.redirect != 0 {
		// From now on it may receive messages without a subscription.
		if to := c.state.find(next.redirect); to != nil {
			to.Mail.Open()
		}
	}
	return next, resp.None
}

// parseOptions reads CLIENT TRACKING's options.
func (c *Client) parseOptions(mode *Mode, prefixes *[][]byte, args [][]byte) (refusal resp.Value) {
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case commands.EqualFold(word, "redirect") && len(args) > 0:
			if mode.redirect != 0 {
				return errRedirectTwice
			}
			id, ok := store.ParseInt(args[0])
			if !ok {
				return commands.ErrNotInteger
			}
			if c.state.find(id) == nil {
				return errRedirectNobody
			}
			mode.redirect, args = id, args[1:]
		case commands.EqualFold(word, "prefix") && len(args) > 0:
			*prefixes, args = append(*prefixes, args[0]), args[1:]
		case commands.EqualFold(word, "bcast"):
			mode.bcast = true
		case commands.EqualFold(word, "optin"):
			mode.optIn = true
		case commands.EqualFold(word, "optout"):
			mode.optOut = true
		case commands.EqualFold(word, "noloop"):
			mode.noLoop = true
		default:
			return commands.ErrSyntax
		}
	}
	return resp.None
}

// refusal returns the error reply for options that contradict each other or the
// session's last mode, which is nil if it does not track. The order is Redis'.
func (m *Mode) refusal(last *Mode, prefixes [][]byte) resp.Value {
	switch {
	case !m.bcast && len(prefixes) > 0:
		return errPrefixAlone
	case last != nil && last.bcast != m.bcast:
		return errSwitchBroadcast
	case m.bcast && (m.optIn || m.optOut):
		return errBroadcastOpt
	case m.optIn && m.optOut:
		return errOptBoth
	case last != nil && (m.optIn && last.optOut || m.optOut && last.optIn):
		return errSwitchOpt
	case m.bcast:
		return overlap(last, prefixes)
	}
	return resp.None
}

// overlap returns the error reply for prefixes of which one begins with another or
// with one that the session has.
func overlap(last *Mode, prefixes [][]byte) resp.Value {
	var existing []string
	if last != nil {
		existing = last.prefixes
	}
	at := firstOverlap(existing, prefixes)
	if at == len(prefixes) {
		return resp.None
	}
	prefix := prefixes[at]
	begins := func(other []byte) bool {
		return bytes.HasPrefix(prefix, other) || bytes.HasPrefix(other, prefix)
	}
	for _, has := range existing {
		if begins([]byte(has)) {
			return errOverlap(prefix, "an existing", []byte(has))
		}
	}
	i := slices.IndexFunc(prefixes[at+1:], begins)
	return errOverlap(prefix, "another provided", prefixes[at+1+i])
}

// firstOverlap returns the index of the first prefix that overlaps with an existing or a later one, or the
// number of prefixes. In order, prefixes follow the one with which they begin, so this takes n log n steps.
func firstOverlap(existing []string, prefixes [][]byte) int {
	type entry struct {
		text string
		// first is the least index of this prefix and those with which it begins; an existing one has none.
		first int
	}
	first := len(prefixes)
	all := make([]entry, 0, len(existing)+len(prefixes))
	for _, has := range existing {
		all = append(all, entry{has, first})
	}
	for i, prefix := range prefixes {
		all = append(all, entry{string(prefix), i})
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.text, b.text) })
	var begins []entry // those with which the present one begins
	for _, e := range all {
		for len(begins) > 0 && !strings.HasPrefix(e.text, begins[len(begins)-1].text) {
			begins = begins[:len(begins)-1]
		}
		if len(begins) > 0 {
			e.first = min(e.first, begins[len(begins)-1].first)
			first = min(first, e.first)
		}
		begins = append(begins, e)
	}
	return first
}

// joinPrefixes returns prefixes and those of the last mode, sorted. No prefix at all
// is the empty one, which every key has.
func joinPrefixes(last *Mode, prefixes [][]byte) []string {
	var out []string
	if last != nil {
		out = append(out, last.prefixes...)
	}
	for _, prefix := range prefixes {
		out = append(out, string(prefix))
	}
	if len(prefixes) == 0 {
		out = append(out, "")
	}
	slices.SortFunc(out, strings.Compare)
	return slices.Compact(out)
}

// Cache has the next command tracked, or not: CLIENT CACHING <YES | NO>. It returns OK or the error
// reply.
func (c *Client) Cache(word []byte) resp.Value {
	mode := c.Mode()
	if mode == nil {
		return errCachingUntracked
	}
	switch {
	case commands.EqualFold(word, "yes"):
		if !mode.optIn {
			return errCachingYes
		}
	case commands.EqualFold(word, "no"):
		if !mode.optOut {
			return errCachingNo
		}
	default:
		return commands.ErrSyntax
	}
	c.Caching = true
	return resp.OK
}

// Info returns the reply of CLIENT TRACKINGINFO.
func (c *Client) Info() resp.Value {
	mode := c.Mode()
	var prefixes []string
	if mode != nil {
		prefixes = mode.prefixes
	}
	return resp.Map(
		resp.Bulk("flags"), resp.Set(resp.Bulks(mode.flags(c.Caching))...),
		resp.Bulk("redirect"), resp.Int(mode.Redirection()),
		resp.Bulk("prefixes"), resp.Array(resp.Bulks(prefixes)...),
	)
}
