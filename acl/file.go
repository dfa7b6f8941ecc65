package acl

import (
	"errors"
	"fmt"
	"strings"
)

// A File is the content of an ACL file: users and their rules.
type File struct{ users []fileUser }

type fileUser struct {
	name  string
	rules *Rules
}

// ParseFile parses the text of an ACL file, which has a line for each user. name is the file's name
// in errors. The error has a sentence for each line that is wrong, in Redis' words.
func (us *Users) ParseFile(name, text string, allChannels bool) (*File, error) {
	f := &File{}
	var problems strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if line = strings.Trim(line, " \t\r\n"); line != "" {
			f.parseLine(us.commands, line, fmt.Sprintf("%s:%d", name, i+1), i+1, allChannels, &problems)
		}
	}
	if problems.Len() > 0 {
		return nil, errors.New(problems.String() +
			"WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
	}
	return f, nil
}

// parseLine adds the user of a line, or says what is wrong with it. Words are separated by
// single spaces, and quotes have no meaning.
func (f *File) parseLine(
	cs *Commands, line, at string, number int, allChannels bool, problems *strings.Builder,
) {
	words := strings.Split(line, " ")
	if words[0] != "user" || len(words) < 2 {
		problems.WriteString(at + " should start with user keyword followed by the username. ")
		return
	}
	name := words[1]
	if hasSpace(name) {
		problems.WriteString("'" + at + ": username '" + name + "' contains invalid characters. ")
		return
	}
	if f.has(name) {
		fmt.Fprintf(problems, "WARNING: Duplicate user '%s' found on line %d. ", name, number)
		return
	}
	rules := newRules(cs, allChannels)
	f.users = append(f.users, fileUser{name, rules})
	list, err := mergeSelectors(words[2:])
	if err != nil {
		problems.WriteString(at + ": Unmatched parenthesis in selector definition.")
		return
	}
	reported := false
	for _, rule := range list {
		rule = strings.Trim(rule, "\t\r\n")
		switch err := rules.apply(rule, allChannels); {
		case errors.Is(err, errUnknownName): // each one is named: it cannot be a secret
			fmt.Fprintf(problems, "%s: Error in applying operation '%s': %v. ", at, rule, err)
		case err != nil && !reported:
			problems.WriteString(at + ": " + err.Error() + ". ")
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
