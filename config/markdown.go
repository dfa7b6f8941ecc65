package config

import (
	"strconv"
	"strings"
)

// Markdown returns the directives as docs/directives.md shows them: what they
// take, their defaults, who may change them, what they are for; then those of
// which one value is accepted, and those that have no effect.
func Markdown() string {
	var effective, limited, idle strings.Builder
	for i := range table {
		d := &table[i]
		cells := []string{"`" + d.Name + "`", "`" + d.Syntax() + "`", code(d.Default), d.changed(), d.About}
		for _, alias := range d.Aliases {
			cells[0] += ", `" + alias + "`"
		}
		switch {
		case d.NoEffect:
			row(&idle, cells[0], cells[2], capital(strings.TrimPrefix(d.About, "No effect: ")))
		case d.Only != nil:
			row(&limited, cells[0], cells[1], d.Refusal)
		default:
			row(&effective, cells...)
		}
	}
	return "| Directive | Value | Default | CONFIG SET | What it is for |\n|---|---|---|---|---|\n" + effective.String() +
		"\n## One value only\n\nAnother value is refused, since it would not be true of zlimit.\n\n" +
		"| Directive | Value | Refusal of others |\n|---|---|---|\n" + limited.String() +
		"\n## No effect\n\nThe value is checked and kept, and CONFIG GET answers it.\n\n" +
		"| Directive | Default | Why |\n|---|---|---|\n" + idle.String()
}

func row(b *strings.Builder, cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// changed says who may change the directive while the server runs.
func (d *Directive) changed() string {
	switch {
	case d.Immutable:
		return "no"
	case d.Protected:
		return "enable-protected-configs"
	}
	return "yes"
}

// Syntax returns the values the directive takes, as the page of directives shows them.
func (d *Directive) Syntax() string {
	switch {
	case d.Only != nil:
		values := make([]string, len(d.Only))
		for i, v := range d.Only {
			values[i] = v
			if v == "" {
				values[i] = `""`
			}
		}
		return strings.Join(values, "|")
	case d.Kind == KindOutputBuffer:
		return "CLASS HARD SOFT SECONDS ..."
	}
	switch d.Kind {
	case KindBool:
		return "yes|no"
	case KindInt:
		return strconv.FormatInt(d.Min, 10) + ".." + strconv.FormatInt(d.Max, 10)
	case KindMemory:
		return "BYTES"
	case KindOctal:
		return "OCTAL"
	case KindEnum:
		return strings.Join(d.Values, "|")
	case KindPath, KindFileName, KindDir:
		return "PATH"
	case KindPercentiles:
		return "PERCENT ..."
	case KindList:
		return "WORD ..."
	}
	return "TEXT"
}
