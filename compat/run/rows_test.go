package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func verdicts(rows []row) []string {
	var list []string
	for _, r := range rows {
		list = append(list, r.flow+": "+string(r.verdict))
	}
	return list
}

func TestClientRows(t *testing.T) {
	const good = "client lib 1\nflow rolling\n1 allowed\n1 denied\nend\n" +
		"flow script-millis\n1 allowed\n1 denied\nend\n"
	c := client{name: "lib", setting: "RESP3", expected: []string{"script-millis", "rolling"}}
	failed := errors.New("exit status 1\nand why")
	cases := []struct {
		name         string
		ours, theirs string
		oursErr      error
		want         []string
	}{
		{"same", good, good, nil, []string{"3 script-millis: same", "7 rolling: same"}},
		{
			"one flow differs", strings.Replace(good, "1 denied", "1 allowed", 1), good, nil,
			[]string{"3 script-millis: same", "7 rolling: NOT THE SAME"},
		},
		{
			"an expected flow is missing on both", "client lib 1\nflow rolling\n1 allowed\n1 denied\nend\n",
			"client lib 1\nflow rolling\n1 allowed\n1 denied\nend\n", nil,
			[]string{"3 script-millis: COULD NOT RUN", "7 rolling: same"},
		},
		{
			"a flow breaks off on both", strings.TrimSuffix(good, "end\n"), strings.TrimSuffix(good, "end\n"),
			nil,
			[]string{"3 script-millis: COULD NOT RUN", "7 rolling: same"},
		},
		{
			"a flow without hits", strings.Replace(good, "1 allowed\n1 denied\n", "", 1),
			strings.Replace(good, "1 allowed\n1 denied\n", "", 1), nil,
			[]string{"3 script-millis: same", "7 rolling: COULD NOT RUN"},
		},
		{
			"a flow that never denies", strings.Replace(good, "denied", "allowed", 1),
			strings.Replace(good, "denied", "allowed", 1), nil,
			[]string{"3 script-millis: same", "7 rolling: LIMIT NOT CROSSED"},
		},
		{
			"an unexpected flow, on one side only", good + "flow new\n1 allowed\n1 denied\nend\n", good, nil,
			[]string{"3 script-millis: same", "7 rolling: same", "- new: COULD NOT RUN"},
		},
		{
			"a document's flow without a limit", good + "flow multi-as-written\n1 allowed\nend\n",
			good + "flow multi-as-written\n1 allowed\nend\n", nil,
			[]string{"3 script-millis: same", "5 multi-as-written: same", "7 rolling: same"},
		},
		{
			"a failure outside of flows is reported", good, good, failed,
			[]string{"3 script-millis: same", "7 rolling: same", "-: COULD NOT RUN"},
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			rows := clientRows(c, outcome{read(t, tc.ours), tc.oursErr}, outcome{read(t, tc.theirs), nil})
			sortRows(rows)
			if got := verdicts(rows); !slices.Equal(got, tc.want) {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
			for _, r := range rows {
				if r.client != "lib 1 RESP3" {
					t.Errorf("client is %q", r.client)
				}
				if (r.verdict == same) != (len(r.detail) == 0) {
					t.Errorf("%s: %s with details %q", r.flow, r.verdict, r.detail)
				}
			}
		})
	}
}

func TestClientWithoutOutput(t *testing.T) {
	c := client{name: "lib", expected: []string{"rolling"}}
	failed := outcome{err: errors.New("the client could not be installed: no such tool")}
	rows := clientRows(c, failed, failed)
	if len(rows) != 1 || rows[0].verdict != notRun || rows[0].client != "lib" {
		t.Fatalf("got %+v", rows)
	}
	if detail := strings.Join(rows[0].detail, "\n"); !strings.Contains(detail, "no such tool") {
		t.Errorf("the reason is missing: %q", detail)
	}
}

// TestEveryFlowIsExpected checks that some client is expected to run each flow of the
// issue.
func TestEveryFlowIsExpected(t *testing.T) {
	for _, f := range issueFlows {
		if !slices.ContainsFunc(allClients(), func(c client) bool {
			return slices.Contains(c.expected,
				f.name)
		}) {
			t.Errorf("no client runs %s", f.name)
		}
	}
	for _, c := range allClients() {
		for _, flow := range c.expected {
			if flowOrder(flow) == len(issueFlows) {
				t.Errorf("%s: %s is not a flow of the issue", c.name, flow)
			}
		}
	}
}

func TestSelectClients(t *testing.T) {
	for only, want := range map[string]string{
		"go":          "go RESP2,go RESP3",
		"java":        "spring,jedis",
		"jedis,node":  "jedis,node RESP2,node RESP3",
		"python,rust": "error",
		",":           "error",
	} {
		chosen, err := selectClients(allClients(), only)
		var labels []string
		for _, c := range chosen {
			labels = append(labels, c.label())
		}
		got := strings.Join(labels, ",")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("--only %s: got %s, want %s", only, got, want)
		}
	}
}
