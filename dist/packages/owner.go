package main

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// An owner publishes the packages.
type owner struct {
	licence    string // of the project, as an SPDX expression
	name, mail string // of a developer, as Maven Central asks for one
}

// theOwner is filled in before the first release: docs/releasing.md.
var theOwner owner

const ownerXML = `  <licenses>
    <license>
      <name>%s</name>
    </license>
  </licenses>
  <developers>
    <developer>
      <name>%s</name>
      <email>%s</email>
    </developer>
  </developers>
`

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
	of := fmt.Sprintf(ownerXML, escaped(o.licence), escaped(o.name), escaped(o.mail))
	return strings.Replace(text, "  <scm>", of+"  <scm>", 1)
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
