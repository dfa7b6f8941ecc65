// Package check has the tests of what operators load into Prometheus and Grafana: each
// query is parsed by Prometheus' own parser and run against what a zlimit-server of
// this source has answered to a scrape.
package check
