// Package exporter compares what redis_exporter exports of zlimit-server and of
// redis-server. Its test builds the exporter and our server, runs the exporter beside
// both after the same load, and compares the series of the two scrapes: their names,
// labels and, where it does not depend on time or memory, their values.
//
// testdata/differences.txt lists every difference with its reason. A difference that is
// not listed fails the test, and so does a listed one that no longer exists.
package exporter
