// Package cluster has the commands of clusters, for a server that is a cluster of one node, or that stands
// for the nodes of another one: a node has its slots for good, there is no bus.
//
// This package is internal to zlimit: it may change in any release.
package cluster
