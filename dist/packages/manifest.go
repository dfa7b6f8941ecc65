package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// unversioned is the version in the sources of packages, wherever the version belongs.
const unversioned = "0.0.0"

// projectURL is where packages say that their source is.
const projectURL = "https://github.com/zlimit/zlimit"

// manifest returns the text of a source file; a pom.xml or package.json with the version, and without the
// platforms that are not built: a package manager would ask its registry for them.
func (f *frame) manifest(s file) string {
	text := string(s.content)
	switch path.Base(s.path) {
	case "pom.xml":
		text = f.owner.pom(strings.ReplaceAll(text, ">"+unversioned+"<", ">"+f.version+"<"))
		for _, p := range f.notBuilt() {
			row := regexp.MustCompile(`(?s)\s*<dependency>\s*<groupId>` + mavenGroup + `</groupId>\s*<artifactId>` +
				mavenArtifact(p) + `</artifactId>.*?</dependency>`)
			text = row.ReplaceAllString(text, "")
		}
	case "package.json":
		text = strings.ReplaceAll(text, `"`+unversioned+`"`, `"`+f.version+`"`)
		text = strings.ReplaceAll(text, `"UNLICENSED"`, `"`+f.owner.npm()+`"`)
		for _, p := range f.notBuilt() {
			row := regexp.MustCompile(`,?\s*"@zlimit/` + npmNames.platform(p) + `": "[^"]*"`)
			text = row.ReplaceAllString(text, "")
		}
		text = regexp.MustCompile(`\{,\s*`).ReplaceAllString(text, "{\n    ") // the first was removed
	}
	return text
}

// notBuilt returns the platforms that this build leaves out.
func (f *frame) notBuilt() []platform {
	return slices.DeleteFunc(slices.Clone(platforms), func(p platform) bool {
		return slices.Contains(f.platforms, p)
	})
}
