// Command difftest sends the same random commands to a redis-server and to a zlimit-server and compares the
// replies byte for byte.
//
// It tests over TCP from outside: it imports nothing of the server, and knows Redis' rules only through the
// redis-server it compares with. Replies that cannot be equal are listed in exceptions.go. A round starts
// from an empty server with the clock held. It is a pure function of the seed and its number. After a
// difference, ever smaller parts of the round are run again until only a few steps are left.
//
//	difftest -server ./zlimit-server -n 200000 -seed 1,2,fresh
//	difftest -server ./zlimit-server -family zset -keep-going 20
//	difftest -self                     # two redis-servers: the generator raises no false alarm
//
// It also compares what a program sends: it stands as a proxy before a redis-server, records, and sends the
// recording to both servers with their clocks held at the instants of the recording (docs/proxies.md).
//
//	difftest -server ./zlimit-server -record mine.txt -listen 127.0.0.1:7000
//	difftest -server ./zlimit-server -record mine.txt -listen 127.0.0.1:7000 npm test
//	difftest -server ./zlimit-server -replay mine.txt,other.txt -times 100
//
// The exit code is 0 without a difference, 1 with one, 2 if the servers could not be compared.
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

// settings holds the flags.
type settings struct {
	targets
	seeds     string
	commands  int
	perRound  int
	only      int
	families  string
	without   string
	keepGoing int
	quiet     bool
	replicas  bool

	recordTo, listen, behind string
	limit                    int64
	command                  []string // that is recorded
	replayed                 string
	times                    int
}

func run(argv []string, out, errOut io.Writer) int {
	var s settings
	fs := flag.NewFlagSet("difftest", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&s.serverPath, "server", "", "zlimit-server `binary` to start")
	fs.StringVar(&s.oursAddr, "ours", "", "`address` of a running server to compare instead (it is flushed)")
	fs.StringVar(&s.redisAddr, "redis", "",
		"`address` of a running redis-server (flushed too); its clock cannot be held, "+
			"so deadlines are far in the future")
	fs.BoolVar(&s.self, "self", false, "compare two redis-servers: any difference is a fault of this program")
	fs.BoolVar(&s.cluster, "cluster", false, "both servers are clusters of one node, with cluster-enabled")
	fs.StringVar(&s.seeds, "seed", "fresh",
		"comma-separated seeds, which share -n; \"fresh\" is a random one, printed")
	fs.IntVar(&s.commands, "n", 200_000, "number of commands")
	fs.IntVar(&s.perRound, "round", 500, "commands per round")
	fs.IntVar(&s.only, "only", -1, "number of the only round to run")
	fs.StringVar(&s.families, "family", "",
		"comma-separated: zset, hash, set, list, string, bits, keys, sort, tx, lua, conn, acl, oom "+
			"(default all); observe, replicated")
	fs.StringVar(&s.without, "without", "",
		"comma-separated commands to generate ten times less often, such as ZADD or OBJECT ENCODING")
	fs.IntVar(&s.keepGoing, "keep-going", 1, "stop after this many distinct differences")
	fs.BoolVar(&s.replicas, "replicas", false,
		"give both servers a replica of each kind, cut their links, restart and promote them, and compare "+
			"what they hold after each round")
	fs.StringVar(&s.recordTo, "record", "",
		"`file` to which is recorded what programs send to -listen, until an interrupt or the end of the "+
			"command in the arguments; then it is replayed")
	fs.StringVar(&s.listen, "listen", "127.0.0.1:0", "`address` of -record for programs")
	fs.StringVar(&s.behind, "behind", "",
		"`address` of the redis-server that programs use through -record (default one that is started; "+
			"it is not flushed)")
	fs.Int64Var(&s.limit, "limit", 16<<20, "bytes that a recording may have")
	fs.StringVar(&s.replayed, "replay", "", "comma-separated recordings to replay")
	fs.IntVar(&s.times, "times", 0,
		"with -replay and -record: measure the processor time of so many repetitions")
	fs.BoolVar(&s.quiet, "quiet", false, "no statistics")
	if err := fs.Parse(argv); err != nil {
		return 2
	}
	s.command = fs.Args()
	differences, err := s.carryOut(out)
	if err != nil {
		fmt.Fprintln(errOut, "difftest:", err)
		return 2
	}
	if differences > 0 {
		return 1
	}
	return 0
}

// carryOut does what the flags ask for and returns the number of differences.
func (s *settings) carryOut(out io.Writer) (differences int, err error) {
	if s.recordTo == "" && s.replayed == "" {
		return s.compare(out)
	}
	files := strings.FieldsFunc(s.replayed, func(r rune) bool { return r == ',' })
	if s.recordTo != "" {
		if err := s.record(out); err != nil {
			return 0, err
		}
		files = append(files, s.recordTo)
	}
	for _, path := range files {
		n, err := s.replayFile(path, out)
		if err != nil {
			return differences, err
		}
		differences += n
	}
	return differences, nil
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
			return nil, fmt.Errorf("-seed %q: must be a number or \"fresh\"", text)
		}
		seeds = append(seeds, seed)
	}
	return seeds, nil
}

func (s *settings) plan() (plan, error) {
	p := plan{omit: map[string]int{}, replicated: s.replicas}
	if s.families != "" {
		p.families = strings.Split(s.families, ",")
		for _, f := range p.families {
			if !slices.Contains(families, f) {
				return p, fmt.Errorf("-family %q: must be one of %s", f, strings.Join(families, ", "))
			}
		}
	}
	if s.without != "" {
		for _, name := range strings.Split(s.without, ",") {
			p.omit[strings.ToUpper(name)] = omitPercent
		}
	}
	return p, nil
}

// omitPercent is the percentage of a command's occurrences that -without omits.
const omitPercent = 90
