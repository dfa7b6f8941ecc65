package main

import (
	"archive/zip"
	"bufio"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A client is a program in one setting. A program may appear twice, once per protocol.
type client struct {
	name        string   // as in --only
	group       string   // also selectable by --only; empty for none
	setting     string   // shown after the version; empty for none
	preparation string   // name of the required preparation
	expected    []string // flows required in its output
	command     func(root string) ([]string, error)
	args        []string
	batch       bool     // its program takes --batch
	announced   bool     // in a cluster: only uses a node that announces its address
	findings    []string // what RL.DOCTOR says of it
}

// label returns the name that the program reported, or else its name here.
func (c client) label(said ...string) string {
	label := c.name
	if i := slices.IndexFunc(said, func(s string) bool { return s != "" }); i >= 0 {
		label = said[i]
	}
	if c.setting != "" {
		label += " " + c.setting
	}
	return label
}

// plainFlows need only a client library. The other flows of the issue need Spring.
var plainFlows = []string{
	"commands-seconds", "script-millis", "pipeline-multi", "pipeline-collision", "pipeline-lua",
	"script-seconds",
	"rolling", "hash-tag",
}

func allClients() []client {
	python := client{
		name: "python", preparation: "python", expected: plainFlows, batch: true,
		command: fixed("compat/python/.venv/bin/python", "compat/python/client.py"),
	}
	golang := client{
		name: "go", preparation: "go", expected: plainFlows,
		command: fixed("compat/.bin/client-go"),
	}
	node := client{
		name: "node", preparation: "node", expected: plainFlows, batch: true,
		command: func(root string) ([]string, error) {
			return []string{"node", filepath.Join(root, "compat/node/client.js")}, nil
		},
	}
	spring := client{
		name: "spring", group: "java", preparation: "java", batch: true,
		command: jar("compat/java/spring/target"),
		expected: []string{
			"template-unique", "template-constant", "script-millis", "aspect-http", "multi-as-written",
			"multi-session", "rolling",
		},
	}
	jedis := client{
		name: "jedis", group: "java", preparation: "java", batch: true,
		command: jar("compat/java/jedis/target"),
		expected: []string{
			"pipeline-multi", "pipeline-collision", "pipeline-lua", "script-seconds",
			"hash-tag",
		},
	}
	return slices.Concat(bothProtocols(python), bothProtocols(golang), bothProtocols(node),
		[]client{spring, jedis})
}

// clusterClients run the same flows with cluster clients, and node-redis, too, which has another cluster
// client than ioredis. Spring has no MULTI in a cluster.
func clusterClients() []client {
	out := allClients()
	for i := range out {
		c := &out[i]
		c.announced = c.name == "node" // ioredis ignores a node without
		c.setting = strings.TrimSpace(c.setting + " cluster")
		c.args = append(slices.Clone(c.args), "--cluster", "yes")
		c.expected = slices.DeleteFunc(append(slices.Clone(c.expected), "cluster"),
			func(flow string) bool { return strings.HasPrefix(flow, "multi-") })
	}
	for _, c := range slices.Clone(out) {
		if c.name == "node" {
			c.name, c.group, c.announced = "node-redis", "node", false
			c.args = append(slices.Clone(c.args), "--library", "redis")
			out = append(out, c)
		}
	}
	return out
}

func bothProtocols(c client) []client {
	two, three := c, c
	two.setting, two.args = "RESP2", []string{"--protocol", "2"}
	three.setting, three.args = "RESP3", []string{"--protocol", "3"}
	return []client{two, three}
}

// selectClients returns the clients that --only names; an empty list selects all.
func selectClients(all []client, only string) ([]client, error) {
	if only == "" {
		return all, nil
	}
	var chosen []client
	for name := range strings.SplitSeq(only, ",") {
		found := false
		for _, c := range all {
			if name != "" && (c.name == name || c.group == name) {
				chosen = append(chosen, c)
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("--only: no client %q", name)
		}
	}
	return chosen, nil
}

// fixed returns a command whose words are all paths under the root.
func fixed(paths ...string) func(string) ([]string, error) {
	return func(root string) ([]string, error) {
		words := make([]string, len(paths))
		for i, path := range paths {
			words[i] = filepath.Join(root, path)
		}
		return words, nil
	}
}

// javaOptions are those of programs that end before what the optimizing compiler and the verifier of bytecode
// would do pays: the verifier takes a third of the time in which Spring starts.
var javaOptions = []string{
	"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+UnlockDiagnosticVMOptions",
	"-XX:-BytecodeVerificationRemote",
}

// jar returns the command of the one executable archive in a Maven target folder.
func jar(folder string) func(string) ([]string, error) {
	return func(root string) ([]string, error) {
		archives, err := filepath.Glob(filepath.Join(root, folder, "*.jar"))
		if err != nil {
			return nil, err
		}
		archives = slices.DeleteFunc(archives, func(path string) bool { return !startable(path) })
		if len(archives) != 1 {
			return nil, fmt.Errorf("want one jar with a Main-Class in %s, found %d", folder, len(archives))
		}
		return slices.Concat([]string{"java"}, javaOptions, []string{"-jar", archives[0]}), nil
	}
}

func startable(path string) bool {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return false
	}
	defer archive.Close()
	manifest, err := archive.Open("META-INF/MANIFEST.MF")
	if err != nil {
		return false
	}
	defer manifest.Close()
	lines := bufio.NewScanner(manifest)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "Main-Class:") {
			return true
		}
	}
	return false
}
