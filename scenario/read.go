package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A File is the sections of a file.
type File struct {
	Path     string // "" if it was not read from a file
	Protocol int    // of its sections without one of their own; 0: both
	Sections []Section
}

// A Section is a list of steps that share a server.
type Section struct {
	Title      string
	Path       string
	Protocol   int      // 0: both
	Redis      []string // flags of redis-server only
	Directives []string
	Steps      []Step
}

// Glob reads the files that match a pattern. words are the directives of a test's own.
func Glob(pattern string, words ...string) ([]File, error) {
	paths, err := filepath.Glob(pattern)
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("no file matches %s", pattern)
	}
	var files []File
	for _, path := range paths {
		f, readErr := ReadFile(path, words...)
		files, err = append(files, f), errors.Join(err, readErr)
	}
	return files, err
}

// ReadFile reads a file.
func ReadFile(path string, words ...string) (File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return File{}, err
	}
	f, err := Read(string(text), words...)
	if err != nil {
		return f, fmt.Errorf("%s: %w", path, err)
	}
	f.Path = path
	for i := range f.Sections {
		f.Sections[i].Path = path
	}
	return f, nil
}

// Read reads the text of a file.
func Read(text string, words ...string) (File, error) {
	var f File
	all, err := linesOf(text)
	if err != nil {
		return f, err
	}
	blocks := map[string][]line{}
	for len(all) > 0 {
		head := all[0]
		n := 1 + slices.IndexFunc(append(all[1:], line{text: "== "}), line.opens)
		body := all[1:n]
		all = all[n:]
		name, isBlock := strings.CutPrefix(head.text, "-- ")
		switch {
		case isBlock:
			blocks[name] = body
		case head.opens():
			sections, err := readSections(f.Protocol, head, body, blocks, words)
			if err != nil {
				return f, err
			}
			for _, s := range sections {
				if slices.ContainsFunc(f.Sections, func(o Section) bool { return o.Title == s.Title }) {
					return f, head.fail(fmt.Errorf("second section %q", s.Title))
				}
				f.Sections = append(f.Sections, s)
			}
		default:
			s := Section{}
			if err := s.read(append([]line{head}, body...), words); err != nil {
				return f, err
			}
			if len(s.Steps)+len(s.Redis)+len(s.Directives) > 0 {
				return f, head.fail(errors.New("a command before the first section"))
			}
			f.Protocol = s.Protocol
		}
	}
	return f, nil
}

// readSections reads a section, or those of @for.
func readSections(protocol int, head line, body []line, blocks map[string][]line, words []string,
) (out []Section, err error) {
	title := strings.TrimPrefix(head.text, "== ")
	rows, err := rowsOf(body)
	if err != nil {
		return nil, err
	}
	if rows == nil {
		rows = []replacement{nil}
	} else {
		body = body[1:]
	}
	for _, r := range rows {
		lines, err := expand(body, r, blocks)
		if err != nil {
			return nil, err
		}
		s := Section{Title: r.in(title), Protocol: protocol}
		if err := s.read(lines, words); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (s *Section) read(lines []line, words []string) error {
	for _, l := range lines {
		if expects(l.text) {
			if len(s.Steps) == 0 {
				return l.fail(errors.New("a reply without a command"))
			}
			if err := s.Steps[len(s.Steps)-1].expect(l); err != nil {
				return l.fail(err)
			}
			continue
		}
		step, err := parseStep(l.text, words)
		if err != nil {
			return l.fail(err)
		}
		step.Number, step.via = l.number, l.via
		switch step.Action {
		case Save:
			if len(s.Steps) == 0 || !s.Steps[len(s.Steps)-1].hasReply() {
				return l.fail(errors.New("no reply to save above"))
			}
			s.Steps = append(s.Steps, step)
		case protocol:
			s.Protocol = int(step.Value)
		case redisFlags:
			s.Redis = append(s.Redis, texts(step.Args)...)
		case directives:
			s.Directives = append(s.Directives, texts(step.Args)...)
		default:
			s.Steps = append(s.Steps, step)
		}
	}
	return nil
}

func texts(args [][]byte) (out []string) {
	for _, arg := range args {
		out = append(out, string(arg))
	}
	return out
}

// expects reports whether a line is about the reply to the line above it.
func expects(text string) bool {
	for _, mark := range []string{"|", "= ", "~ ", "!~ "} {
		if strings.HasPrefix(text, mark) {
			return true
		}
	}
	return text == "="
}

func (s *Step) expect(l line) error {
	mark, text, _ := strings.Cut(l.text, " ")
	switch {
	case !s.hasReply():
		return fmt.Errorf("%s has no reply", s.Line)
	case l.text[0] == '|':
		b, err := unescape(l.text[1:])
		if err != nil {
			return err
		}
		s.Recorded, s.IsRecorded = append(s.Recorded, b...), true
		return nil
	case mark == "=" && s.isShown:
		return errors.New("a second reply")
	case mark == "=":
		b, err := unescape(text)
		s.want, s.isShown = strings.TrimSuffix(string(b), "\r\n"), true
		return err
	}
	re, err := regexp.Compile("(?m)" + text)
	s.patterns = append(s.patterns, pattern{re, mark == "!~"})
	return err
}

// Under returns the sections that run under a protocol.
func (f File) Under(protocol int) File {
	f.Sections = slices.DeleteFunc(slices.Clone(f.Sections), func(s Section) bool {
		return s.Protocol != 0 && s.Protocol != protocol
	})
	return f
}

// Lines returns the titles and lines without the replies.
func (f File) Lines() (lines []string) {
	for _, s := range f.Sections {
		lines = append(lines, "== "+s.Title)
		for _, step := range s.Steps {
			lines = append(lines, step.Line)
		}
	}
	return lines
}
