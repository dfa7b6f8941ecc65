package main

import (
	"encoding/xml"
	"strings"
)

// An owner publishes the packages.
type owner struct {
	licence    string // of the project, as an SPDX expression
	name, mail string // of a developer, as Maven Central asks for one
}

// theOwner is filled in before the first release: docs/releasing.md.
var theOwner owner

// pom adds the owner to the text of a pom.xml.
func (o owner) pom(text string) string {
	if o == (owner{}) {
		return text
	}
	escaped := func(s string) string {
		var out strings.Builder
		_ = xml.EscapeText(&out, []byte(s)) // a Builder takes everything
		return out.String()
	}
	return strings.Replace(text, "  <scm>", "  <licenses>\n    <license>\n      <name>"+escaped(o.licence)+
		"</name>\n    </license>\n  </licenses>\n  <developers>\n    <developer>\n      <name>"+escaped(o.name)+
		"</name>\n      <email>"+escaped(o.mail)+"</email>\n    </developer>\n  </developers>\n  <scm>", 1)
}

// npm returns the licence as package.json has it.
func (o owner) npm() string {
	if o.licence == "" {
		return "UNLICENSED"
	}
	return o.licence
}

// wheel returns the lines of a wheel's metadata.
func (o owner) wheel() string {
	if o == (owner{}) {
		return ""
	}
	return "License-Expression: " + o.licence + "\nAuthor-email: " + o.name + " <" + o.mail + ">\n"
}
