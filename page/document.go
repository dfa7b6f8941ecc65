package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"strings"
)

//go:embed static
var static embed.FS

// scripts are the files of the page's script, in the order in which they run.
var scripts = []string{
	"text.js", "replies.js", "elements.js", "chart.js", "tables.js", "figures.js", "panels.js", "explain.js",
	"inspector.js", "main.js",
}

// document is the page, and policy its Content-Security-Policy: the browser runs this
// script and this style and nothing else, connects to this server only, and makes no
// markup from text.
var document, policy = assemble()

func assemble() (page []byte, policy string) {
	read := func(name string) string {
		text, err := static.ReadFile("static/" + name)
		if err != nil {
			panic("page: " + err.Error()) // it is embedded
		}
		return string(text)
	}
	script := "\"use strict\";\n(() => {\n"
	for _, name := range scripts {
		script += read(name)
	}
	script += "})();\n"
	style := read("style.css")
	text := strings.NewReplacer("/* style */", style, "/* script */", script).Replace(read("page.html"))
	return []byte(text), "default-src 'none'; script-src " + source(script) + "; style-src " + source(style) +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"
}

// source is the source expression that admits one inline text.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
