package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/words"
)

// line spells a line of a file.
func line(name string, args ...string) string {
	var b strings.Builder
	b.WriteString(name)
	for _, arg := range args {
		b.WriteString(" " + words.Spell(arg))
	}
	return b.String()
}

// lines spells a value as lines of a file, as CONFIG REWRITE of Redis does. A string
// that is empty has none. If explicit, the lines give the value whatever lines precede
// them.
func (d *Directive) lines(v value, explicit bool) []string {
	switch d.Kind {
	case KindMemory:
		return []string{d.Name + " " + spellMemory(v)}
	case KindString, KindFileName, KindPath, KindEvents:
		if v.text == "" && !explicit && d.Default == "" && d.Kind != KindEvents {
			return nil
		}
		return []string{d.Name + " " + words.Quote(v.text)}
	case KindDir:
		return []string{d.Name + " " + words.Quote(absolute(v.text))}
	case KindMaster:
		if len(v.words) == 0 {
			return nil
		}
		return []string{line(d.Name, v.words...)}
	case KindList, KindPercentiles:
		if len(v.words) == 0 {
			return []string{line(d.Name, "")}
		}
		return []string{line(d.Name, v.words...)}
	case KindSave:
		return d.accumulated(v.words, 2, explicit)
	case KindKeyLimits:
		return d.accumulated(keyLimitWords(v.keys), 2*max(len(v.keys), 1), explicit)
	case KindPrefixes:
		return d.accumulated(v.words, max(len(v.words), 1), explicit)
	case KindOutputBuffer:
		return d.classLines(v, explicit)
	}
	return []string{line(d.Name, v.text)}
}

// accumulated spells a value of which each line adds words to those of the lines before.
func (d *Directive) accumulated(all []string, perLine int, explicit bool) (out []string) {
	if len(all) == 0 || explicit {
		out = append(out, line(d.Name, "")) // removes what lines before have added
	}
	for ; len(all) > 0; all = all[perLine:] {
		out = append(out, line(d.Name, all[:perLine]...))
	}
	return out
}

// classLines spells the limits of all classes, or of those that differ from the default's. There is at
// least one line.
func (d *Directive) classLines(v value, all bool) (out []string) {
	n, _ := lookup(d.Name)
	for class, l := range v.limits {
		if all || l != defaults[n.index].limits[class] {
			out = append(out, d.classLine(Class(class), l))
		}
	}
	if len(out) == 0 {
		out = append(out, d.classLine(ClassNormal, v.limits[ClassNormal]))
	}
	return out
}

func (d *Directive) classLine(class Class, l OutputBufferLimit) string {
	name := classNames[class]
	if class == ClassReplica {
		name = "replica" // CONFIG GET shows the old name
	}
	return fmt.Sprintf("%s %s %s %s %d", d.Name, name, spellBytes(l.HardBytes), spellBytes(l.SoftBytes),
		l.SoftSeconds)
}

// spellMemory spells a KindMemory value.
func spellMemory(v value) string {
	if strings.HasSuffix(v.text, "%") {
		return v.text
	}
	return spellBytes(v.num)
}

// spellBytes spells a number of bytes with the largest unit that divides it.
func spellBytes(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"gb", 1 << 30}, {"mb", 1 << 20}, {"kb", 1 << 10}} {
		if n != 0 && n%unit.size == 0 {
			return strconv.FormatInt(n/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}
