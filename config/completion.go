package config

import (
	"fmt"
	"slices"
	"strings"
)

// programOptions are the options of zlimit-server that are no directives, with what
// they are for.
var programOptions = [][2]string{
	{"help", "print the usage"},
	{"help-all", "print every directive"},
	{"version", "print the version"},
	{"check", "check a configuration file"},
	{"check-aof", "check an append-only file"},
	{"check-rdb", "check a snapshot"},
	{"fix", "truncate a damaged end, with --check-aof"},
	{"export", "move keys to a server or a cluster"},
}

// Completion returns a script that completes the command line of zlimit-server in a
// shell: bash, zsh or fish. It has the names of the directives and the words that a
// value can be.
func Completion(shell string) string {
	switch shell {
	case "bash":
		return bashCompletion()
	case "zsh":
		return zshCompletion()
	case "fish":
		return fishCompletion()
	}
	panic("config: there is no completion for " + shell)
}

// completed returns the directives that can be changed.
func completed() (out []*Directive) {
	for i := range table {
		if d := &table[i]; d.effective() && !d.Hidden {
			out = append(out, d)
		}
	}
	return out
}

// choices returns the words that the directive's value can be, or nil if they are not
// a few.
func (d *Directive) choices() []string {
	switch {
	case d.Only != nil:
		return d.Only
	case d.Kind == KindBool:
		return []string{"yes", "no"}
	case d.Kind == KindEnum || d.Kind == KindShutdown:
		return slices.Concat(d.Values, d.Later)
	}
	return nil
}

// isPath reports whether the directive's value is the name of a file or a directory.
func (d *Directive) isPath() bool {
	return d.Kind == KindPath || d.Kind == KindDir || strings.HasSuffix(d.Name, "-file")
}

// summary returns the first clause of About, for a list of options.
func (d *Directive) summary() string {
	text, _, _ := strings.Cut(d.About, ";")
	return strings.TrimSuffix(text, ".")
}

const generated = "made from the table of directives: go test . -run Dist -rewrite"

func bashCompletion() string {
	var names, cases strings.Builder
	for _, o := range programOptions {
		names.WriteString(" --" + o[0])
	}
	paths := []string{"--check", "--check-aof", "--check-rdb", "--fix"}
	for _, d := range completed() {
		names.WriteString(" --" + d.Name)
		if c := d.choices(); c != nil {
			fmt.Fprintf(&cases, "    --%s) words=\"%s\" ;;\n", d.Name, strings.Join(c, " "))
		} else if d.isPath() {
			paths = append(paths, "--"+d.Name)
		}
	}
	return "# Completion of zlimit-server in bash, " + generated + `
_zlimit_server() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=
  case $previous in
` + cases.String() + `    ` + strings.Join(paths, "|") + `)
      COMPREPLY=($(compgen -f -- "$current"))
      return ;;
    --*) [[ $current == -* ]] || return ;;
  esac
  if [[ -z $words && $current != -* ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
    return
  fi
  [[ -n $words ]] || words="` + strings.TrimSpace(names.String()) + `"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o filenames -F _zlimit_server zlimit-server
`
}

func zshCompletion() string {
	escape := strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`).Replace
	var b strings.Builder
	b.WriteString("#compdef zlimit-server\n# Completion of zlimit-server in zsh, " + generated +
		"\n_arguments \\\n")
	for _, o := range programOptions {
		fmt.Fprintf(&b, "  '--%s[%s]' \\\n", o[0], escape(o[1]))
	}
	for _, d := range completed() {
		action := " "
		if c := d.choices(); c != nil {
			action = "(" + strings.Join(c, " ") + ")"
		} else if d.isPath() {
			action = "_files"
		}
		fmt.Fprintf(&b, "  '*--%s[%s]:%s:%s' \\\n", d.Name, escape(d.summary()), d.Name, action)
	}
	b.WriteString("  '1:configuration file:_files'\n")
	return b.String()
}

func fishCompletion() string {
	escape := strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace
	var b strings.Builder
	b.WriteString("# Completion of zlimit-server in fish, " + generated + "\n")
	for _, o := range programOptions {
		fmt.Fprintf(&b, "complete -c zlimit-server -l %s -d '%s'\n", o[0], escape(o[1]))
	}
	for _, d := range completed() {
		value := "-x"
		if c := d.choices(); c != nil {
			value = "-x -a '" + strings.Join(c, " ") + "'"
		} else if d.isPath() {
			value = "-r -F"
		}
		fmt.Fprintf(&b, "complete -c zlimit-server -l %s %s -d '%s'\n", d.Name, value, escape(d.summary()))
	}
	return b.String()
}
