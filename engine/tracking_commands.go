package engine

import (
	"bytes"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// CLIENT TRACKING <ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN]
// [OPTOUT] [NOLOOP]
func clientTracking(c *commands.Ctx) resp.Value {
	s := caller(c)
	next := &trackingMode{session: s}
	var prefixes [][]byte
	if refusal := s.parseTracking(next, &prefixes, c.Args[3:]); refusal.IsError() {
		return refusal
	}
	switch {
	case commands.EqualFold(c.Args[2], "off"):
		s.track(nil)
		return resp.OK
	case !commands.EqualFold(c.Args[2], "on"):
		return commands.ErrSyntax
	}
	last := s.tracking.mode()
	if refusal := next.refusal(last, prefixes); refusal.IsError() {
		return refusal
	}
	if next.bcast {
		next.prefixes = joinPrefixes(last, prefixes)
	}
	if next.redirect != 0 {
		// From now on it may receive messages without a subscription.
		if to := s.engine.sessions.find(next.redirect); to != nil {
			to.subscriber.Mail.Open()
		}
	}
	s.track(next)
	return resp.OK
}

// parseTracking reads CLIENT TRACKING's options.
func (s *Session) parseTracking(mode *trackingMode, prefixes *[][]byte, args [][]byte) (refusal resp.Value) {
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
			if s.engine.sessions.find(id) == nil {
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
func (m *trackingMode) refusal(last *trackingMode, prefixes [][]byte) resp.Value {
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
func overlap(last *trackingMode, prefixes [][]byte) resp.Value {
	begins := func(a, b []byte) bool { return bytes.HasPrefix(a, b) || bytes.HasPrefix(b, a) }
	for i, prefix := range prefixes {
		if last != nil {
			for _, has := range last.prefixes {
				if begins(prefix, []byte(has)) {
					return errOverlap(prefix, "an existing", []byte(has))
				}
			}
		}
		for _, other := range prefixes[i+1:] {
			if begins(prefix, other) {
				return errOverlap(prefix, "another provided", other)
			}
		}
	}
	return resp.None
}

// joinPrefixes returns prefixes and those of the last mode, sorted. No prefix at all
// is the empty one, which every key has.
func joinPrefixes(last *trackingMode, prefixes [][]byte) []string {
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

// CLIENT CACHING <YES | NO>
func clientCaching(c *commands.Ctx) resp.Value {
	s := caller(c)
	mode := s.tracking.mode()
	if mode == nil {
		return errCachingUntracked
	}
	switch word := c.Args[2]; {
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
	s.tracking.caching = true
	return resp.OK
}

// CLIENT GETREDIR
func clientGetRedir(c *commands.Ctx) resp.Value {
	return resp.Int(caller(c).tracking.mode().redirection())
}

// CLIENT TRACKINGINFO
func clientTrackingInfo(c *commands.Ctx) resp.Value {
	t := &caller(c).tracking
	mode := t.mode()
	var prefixes []string
	if mode != nil {
		prefixes = mode.prefixes
	}
	return resp.Map(
		resp.Bulk("flags"), resp.Set(resp.Bulks(mode.flags(t.caching))...),
		resp.Bulk("redirect"), resp.Int(mode.redirection()),
		resp.Bulk("prefixes"), resp.Array(resp.Bulks(prefixes)...),
	)
}
