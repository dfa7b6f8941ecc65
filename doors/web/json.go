package web

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/zlimit/zlimit/doors"
)

// parsePlain makes a request of a body that is valid UTF-8, and refers to it. It reads what clients usually
// send, for a tenth of what encoding/json costs. It returns false for all else: what is no valid request, or
// has escapes, null, a key twice, or in other letters. parse decides about that.
func parsePlain(body []byte, q *question) bool {
	p := plain{text: body}
	r, k := &q.request, &q.key
	r.Descriptors, k.Limits, k.Cost, q.ofKey = r.Descriptors[:0], k.Limits[:0], 1, false
	aboutDescriptors, aboutKey := false, false
	return p.object(func(key []byte) bool {
		switch string(key) {
		case "domain":
			aboutDescriptors = true
			return p.once(0) && p.string(&r.Domain)
		case "descriptors":
			aboutDescriptors = true
			return p.once(1) && p.array(func() bool {
				r.Descriptors = append(r.Descriptors, doors.Descriptor{})
				return p.descriptor(&r.Descriptors[len(r.Descriptors)-1])
			})
		case "hits":
			aboutDescriptors = true
			return p.once(2) && p.uint32(&r.Hits)
		case "key":
			q.ofKey = true
			return p.once(3) && p.string(&k.Key)
		case "limits":
			aboutKey = true
			return p.once(4) && p.array(func() bool {
				k.Limits = append(k.Limits, doors.KeyLimit{})
				return p.quota(&k.Limits[len(k.Limits)-1])
			})
		case "algorithm":
			aboutKey = true
			return p.once(5) && p.string(&k.Algorithm)
		case "cost":
			aboutKey = true
			return p.once(6) && p.int64(&k.Cost)
		}
		return false
	}) && p.next() == 0 && (q.ofKey && !aboutDescriptors || !q.ofKey && !aboutKey)
}

// A plain is a reader of JSON. Its methods return false for what it does not read.
type plain struct {
	text []byte
	at   int
	seen uint // bits of the object's keys
}

func (p *plain) descriptor(out *doors.Descriptor) bool {
	return p.object(func(key []byte) bool {
		switch string(key) {
		case "entries":
			return p.once(0) && p.array(func() bool {
				out.Entries = append(out.Entries, doors.Entry{})
				return p.entry(&out.Entries[len(out.Entries)-1])
			})
		case "hits":
			out.Hits = new(uint64)
			return p.once(1) && p.number(math.MaxUint64, out.Hits)
		case "limit":
			out.Override = new(doors.Override)
			return p.once(2) && p.limit(out.Override)
		}
		return false
	})
}

func (p *plain) entry(out *doors.Entry) bool {
	return p.object(func(key []byte) bool {
		switch string(key) {
		case "key":
			return p.once(0) && p.string(&out.Key)
		case "value":
			return p.once(1) && p.string(&out.Value)
		}
		return false
	})
}

func (p *plain) limit(out *doors.Override) bool {
	return p.object(func(key []byte) bool {
		switch string(key) {
		case "requests_per_unit":
			return p.once(0) && p.uint32(&out.Requests)
		case "unit":
			var name []byte
			if !p.once(1) || !p.string(&name) {
				return false
			}
			out.Unit = unitOf(string(name))
			return true
		}
		return false
	}) && out.Unit.Valid()
}

func (p *plain) quota(out *doors.KeyLimit) bool {
	given := 0
	return p.object(func(key []byte) bool {
		given++
		switch string(key) {
		case "limit":
			return p.once(0) && p.int64(&out.Limit)
		case "window":
			return p.once(1) && p.string(&out.Window)
		}
		return false
	}) && given == 2 && len(out.Window) > 0
}

// object reads an object. member reads the value of a key.
func (p *plain) object(member func(key []byte) bool) bool {
	outer := p.seen
	p.seen = 0
	if !p.take('{') {
		return false
	}
	for first := true; !p.take('}'); first = false {
		var key []byte
		if !first && !p.take(',') || !p.string(&key) || !p.take(':') || !member(key) {
			return false
		}
	}
	p.seen = outer
	return true
}

// once reports whether the object has had no key with this bit, and sets that.
func (p *plain) once(bit int) bool {
	before := p.seen
	p.seen |= 1 << bit
	return p.seen != before
}

// array reads an array. element reads an element.
func (p *plain) array(element func() bool) bool {
	if !p.take('[') {
		return false
	}
	for first := true; !p.take(']'); first = false {
		if !first && !p.take(',') || !element() {
			return false
		}
	}
	return true
}

// string reads a string, which out refers to.
func (p *plain) string(out *[]byte) bool {
	if !p.take('"') {
		return false
	}
	for i, c := range p.text[p.at:] {
		switch {
		case c == '"':
			*out = p.text[p.at : p.at+i : p.at+i]
			p.at += i + 1
			return true
		case c < ' ' || c == '\\':
			return false
		}
	}
	return false
}

func (p *plain) uint32(out *uint32) bool {
	var n uint64
	ok := p.number(math.MaxUint32, &n)
	*out = uint32(n)
	return ok
}

func (p *plain) int64(out *int64) bool {
	var n uint64
	ok := p.number(math.MaxInt64, &n)
	*out = int64(n)
	return ok
}

// number reads a number that has digits only. What may not follow those, its caller refuses.
func (p *plain) number(most uint64, out *uint64) bool {
	p.next()
	start := p.at
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	digits := p.text[start:p.at]
	if len(digits) > 1 && digits[0] == '0' || len(digits) > len("18446744073709551615") {
		return false
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	*out = n
	return err == nil && n <= most
}

// take reads the character c, if it is the next, behind spaces.
func (p *plain) take(c byte) bool {
	if p.next() != c {
		return false
	}
	p.at++
	return true
}

// next returns the next character, without reading it, or 0 at the end. It skips spaces.
func (p *plain) next() byte {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\r', '\n':
			p.at++
		case 0: // not the end
			return ' '
		default:
			return c
		}
	}
	return 0
}

// appendAnswer appends the answer to a decision, and an end of line.
func appendAnswer(b []byte, response *doors.Response) []byte {
	b = appendCode(b, response.Code)
	b = append(b, `,"statuses":[`...)
	for i := range response.Statuses {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendStatus(b, &response.Statuses[i])
	}
	return append(b, "]}\n"...)
}

// appendKeyAnswer appends the answer to a decision about a key, and an end of line.
func appendKeyAnswer(b []byte, d *doors.KeyDecision) []byte {
	b = appendCode(b, d.Code)
	for _, field := range [...]struct {
		name  string
		value int64
	}{
		{`,"limit":`, d.Limit},
		{`,"window_ms":`, d.WindowMs},
		{`,"remaining":`, d.Remaining},
		{`,"reset_ms":`, d.ResetMs},
	} {
		b = append(b, field.name...)
		b = strconv.AppendInt(b, field.value, 10)
	}
	b = appendRetry(b, d.Code, d.RetryMs)
	return append(b, "}\n"...)
}

// appendRetry appends the milliseconds to wait after a denial, -1 for ever.
func appendRetry(b []byte, c doors.Code, ms int64) []byte {
	if c != doors.OverLimit {
		return b
	}
	b = append(b, `,"retry_ms":`...)
	return strconv.AppendInt(b, ms, 10)
}

func appendStatus(b []byte, s *doors.Status) []byte {
	b = appendCode(b, s.Code)
	if s.HasLimit {
		b = append(b, `,"limit":{`...)
		if s.Limit.Name != "" {
			b = append(b, `"name":`...)
			b = appendString(b, s.Limit.Name)
			b = append(b, ',')
		}
		b = append(b, `"requests_per_unit":`...)
		b = strconv.AppendUint(b, uint64(s.Limit.Requests), 10)
		if unit := s.Limit.Unit.String(); unit != "" {
			b = append(b, `,"unit":`...)
			b = appendString(b, unit)
		}
		b = append(b, `},"remaining":`...)
		b = strconv.AppendUint(b, uint64(s.Remaining), 10)
		if s.HasReset {
			b = append(b, `,"reset_seconds":`...)
			b = strconv.AppendInt(b, s.ResetSeconds, 10)
		}
	}
	b = appendRetry(b, s.Code, s.RetryMs)
	if s.QuotaOver {
		b = append(b, `,"quota_over":true`...)
	}
	return append(b, '}')
}

// appendCode appends the beginning of an object that has a code.
func appendCode(b []byte, c doors.Code) []byte {
	if c == doors.OverLimit {
		return append(b, `{"code":"OVER_LIMIT"`...)
	}
	return append(b, `{"code":"OK"`...)
}

// appendString appends text as a string.
func appendString(b []byte, text string) []byte {
	if slices.ContainsFunc([]byte(text), func(c byte) bool {
		return c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&'
	}) {
		quoted, err := json.Marshal(text)
		if err != nil {
			panic(err) // a string has no error
		}
		return append(b, quoted...)
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}
