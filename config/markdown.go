package config

import (
	"slices"
	"strconv"
	"strings"
)

// Markdown returns the tables of docs/directives.md: the directives with their
// values, defaults, whether CONFIG SET may change them, and descriptions; then
// those with one accepted value, and those without effect.
func Markdown() string {
	var effective, limited, noEffect strings.Builder
	for i := range table {
		d := &table[i]
		cells := []string{
			"`" + d.Name + "`", "`" + d.Syntax() + "`", codeSpan(d.Default), d.changeableBy(),
			d.About,
		}
		for _, alias := range d.Aliases {
			cells[0] += ", `" + alias + "`"
		}
		switch {
		case d.NoEffect:
			writeRow(&noEffect, cells[0], cells[2], capitalize(strings.TrimPrefix(d.About, "No effect: ")))
		case len(d.Only) == 1:
			writeRow(&limited, cells[0], cells[1], d.Refusal)
		default:
			writeRow(&effective, cells...)
		}
	}
	return "| Directive | Value | Default | CONFIG SET | What it is for |\n|---|---|---|---|---|\n" +
		effective.String() +
		"\n## One value only\n\nOther values are refused, because zlimit does not implement them.\n\n" +
		"| Directive | Value | Refusal of others |\n|---|---|---|\n" + limited.String() +
		"\n## No effect\n\nThe value is checked and stored, and CONFIG GET returns it.\n\n" +
		"| Directive | Default | Why |\n|---|---|---|\n" + noEffect.String()
}

func writeRow(b *strings.Builder, cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func codeSpan(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// changeableBy returns who may change the directive at run time.
func (d *Directive) changeableBy() string {
	switch {
	case d.Immutable:
		return "no"
	case d.Protected:
		return "enable-protected-configs"
	}
	return "yes"
}

// Syntax returns the values of the directive in the notation of docs/directives.md.
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
	case d.Kind == KindKeyLimits:
		return "PREFIX KEYS ..."
	case d.Kind == KindPrefixes:
		return "PREFIX ..."
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
	case KindEnum, KindShutdown:
		return strings.Join(slices.Concat(d.Values, d.Later), "|")
	case KindPath, KindFileName, KindDir:
		return "PATH"
	case KindPercentiles:
		return "PERCENT ..."
	case KindList:
		return "WORD ..."
	case KindMaster:
		return "HOST PORT"
	}
	return "TEXT"
}
