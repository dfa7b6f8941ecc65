package acl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/words"
)

// A File is the content of an ACL file: users and their rules.
type File struct{ users []fileUser }

type fileUser struct {
	name  string
	rules *Rules
}

// ParseFile parses the text of an ACL file, a line for each user. name is the file's name
// in errors. The error has a sentence for each line that is wrong, in Redis' words.
func (us *Users) ParseFile(name, text string, allChannels bool) (*File, error) {
	f := &File{}
	var problems strings.Builder
	for i, line := range strings.Split(text, "\n") {
		line = strings.Trim(line, " \t\r\n")
		args, ok := words.Split([]byte(line), nil)
		at := fmt.Sprintf("%s:%d: ", name, i+1)
		switch {
		case line == "":
		case !ok:
			problems.WriteString(at + "unbalanced quotes in acl line. ")
		default:
			f.parseLine(us.commands, at, i+1, args, allChannels, &problems)
		}
	}
	if problems.Len() > 0 {
		return nil, errors.New(problems.String() + //nolint:revive,staticcheck // Redis' text
			"WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
	}
	return f, nil
}

// parseLine adds the user of a line, or says what is wrong with it.
func (f *File) parseLine(
	cs *Commands, at string, number int, args [][]byte, allChannels bool, problems *strings.Builder,
) {
	line := make([]string, len(args))
	for i, a := range args {
		line[i] = string(a)
	}
	if len(line) == 0 {
		return
	}
	if line[0] != "user" || len(line) < 2 {
		problems.WriteString(at + "should start with user keyword followed by the username. ")
		return
	}
	name := line[1]
	if hasSpace(name) {
		problems.WriteString("'" + at + "username '" + name + "' contains invalid characters. ")
		return
	}
	if f.has(name) {
		fmt.Fprintf(problems, "WARNING: Duplicate user '%s' found on line %d. ", name, number)
		return
	}
	rules := newRules(cs, allChannels)
	f.users = append(f.users, fileUser{name, rules})
	list, err := mergeSelectors(line[2:])
	if err != nil {
		problems.WriteString(at + "Unmatched parenthesis in selector definition.")
		return
	}
	reported := false
	for _, rule := range list {
		switch err := rules.apply(strings.Trim(rule, "\t\r\n"), allChannels); {
		case errors.Is(err, errUnknownName): // each one is named: it cannot be a secret
			fmt.Fprintf(problems, "%sError in applying operation '%s': %v. ", at, rule, err)
		case err != nil && !reported:
			problems.WriteString(at + err.Error() + ". ")
			reported = true
		}
	}
}

func (f *File) has(name string) bool {
	for i := range f.users {
		if f.users[i].name == name {
			return true
		}
	}
	return false
}
