// Command difftest sends the same random commands to a redis-server and to a zlimit-server and compares the replies
// byte for byte.
//
// It is a judge from outside, over TCP: it imports nothing of the server, and knows Redis' rules only through the
// redis-server beside it. What cannot be equal is in the list of exceptions.go. Rounds start from an empty server with
// the clock held at an instant; a round is a pure function of the seed and its number, and a difference is run again in
// ever smaller parts until little is left to read.
//
//	difftest -server ./zlimit-server -n 200000 -seed 1,2,fresh
//	difftest -server ./zlimit-server -family zset -keep-going 20
//	difftest -self                     # two redis-servers: the generator raises no false alarm
//
// It exits 0 without a difference, 1 with one, 2 when it could not compare.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// settings are the flags.
type settings struct {
	opponents
	seeds     string
	commands  int
	perRound  int
	only      int
	families  string
	without   string
	keepGoing int
	quiet     bool
}

func run(argv []string, out, errOut io.Writer) int {
	var s settings
	fs := flag.NewFlagSet("difftest", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&s.serverPath, "server", "", "zlimit-server `binary` to start and end")
	fs.StringVar(&s.oursAddr, "ours", "", "`address` of a running server to compare instead (it is emptied!)")
	fs.StringVar(&s.redisAddr, "redis", "", "`address` of a running redis-server (emptied too); its clock cannot be held, so deadlines stay far away")
	fs.BoolVar(&s.self, "self", false, "compare Redis with a second redis-server: any difference is this program's fault")
	fs.StringVar(&s.seeds, "seed", "fresh", "comma-separated seeds, -n shared among them; \"fresh\" is a new one, printed")
	fs.IntVar(&s.commands, "n", 200_000, "commands in all")
	fs.IntVar(&s.perRound, "round", 500, "commands from one fresh start to the next")
	fs.IntVar(&s.only, "only", -1, "run only the round of this number")
	fs.StringVar(&s.families, "family", "", "comma-separated: zset, hash, set, list, string, bits, keys, sort, tx, lua, conn (default all)")
	fs.StringVar(&s.without, "without", "", "comma-separated commands to generate a tenth as often, such as ZADD or OBJECT ENCODING")
	fs.IntVar(&s.keepGoing, "keep-going", 1, "collect up to this many distinct differences before giving up")
	fs.BoolVar(&s.quiet, "quiet", false, "no statistics")
	if err := fs.Parse(argv); err != nil {
		return 2
	}
	differences, err := s.compare(out)
	if err != nil {
		fmt.Fprintln(errOut, "difftest:", err)
		return 2
	}
	if differences > 0 {
		return 1
	}
	return 0
}

func (s *settings) parseSeeds() ([]uint64, error) {
	var seeds []uint64
	for _, text := range strings.Split(s.seeds, ",") {
		if text == "fresh" {
			seeds = append(seeds, rand.Uint64()>>1)
			continue
		}
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("-seed %q: a number or \"fresh\"", text)
		}
		seeds = append(seeds, seed)
	}
	return seeds, nil
}

func (s *settings) plan() (plan, error) {
	p := plan{seldom: map[string]int{}}
	if s.families != "" {
		p.families = strings.Split(s.families, ",")
		for _, f := range p.families {
			if !slices.ContainsFunc(familyWeights, func(w familyWeight) bool { return w.name == f }) {
				return p, fmt.Errorf("-family %q is none of zset, hash, set, list, string, bits, keys, sort, tx, lua, conn", f)
			}
		}
	}
	if s.without != "" {
		for _, name := range strings.Split(s.without, ",") {
			p.seldom[strings.ToUpper(name)] = seldomShare
		}
	}
	return p, nil
}

// seldomShare is the percentage left out of a command that is known to differ.
const seldomShare = 90
