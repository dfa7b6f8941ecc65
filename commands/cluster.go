package commands

import "github.com/zlimit/zlimit/resp"

var errNoCluster = resp.Error("ERR This instance has cluster support disabled")

// Cluster are the rows of the commands of a cluster. They are refused as a standalone
// Redis refuses them, except KEYSLOT, which needs no cluster.
var Cluster = []Command{{
	Name: "cluster", Arity: -2, Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
	Summary: "Returns information about a cluster.",
	Subs: []Command{
		onNodeOfSlot(noCluster("countkeysinslot", 3, "3.0.0", "O(1)", "slot", "Counts the keys of a slot.",
			false)),
		onNodeOfSlot(noCluster("getkeysinslot", 4, "3.0.0", "O(N)", "slot count", "Lists keys of a slot.",
			true)),
		{
			Name: "help", Arity: 2, Flags: Loading | Stale,
			Group: "cluster", Since: "5.0.0", Complexity: "O(1)", Handler: refuseCluster,
			Summary: "Lists the subcommands, in a cluster.",
		},
		noCluster("info", 2, "3.0.0", "O(1)", "", "Describes the state of the cluster.", true),
		{
			Name: "keyslot", Arity: 3, Flags: Stale,
			Group: "cluster", Since: "3.0.0", Complexity: "O(N)", Syntax: "key", Handler: clusterKeySlot,
			Summary:   "Returns the hash slot of a key.",
			Deviation: "answers without a cluster, where Redis refuses",
		},
		noCluster("myid", 2, "3.0.0", "O(1)", "", "Returns the name of the node.", false),
		noCluster("nodes", 2, "3.0.0", "O(N)", "", "Lists the nodes of the cluster.", true),
		noCluster("shards", 2, "7.0.0", "O(N)", "", "Lists the shards of the cluster and their nodes.", true),
		noCluster("slots", 2, "3.0.0", "O(N)", "", "Lists the slots of the cluster and their nodes.", true),
	},
}, {
	Name: "asking", Arity: 1, Flags: Fast,
	Group: "cluster", Since: "3.0.0", Complexity: "O(1)", Handler: refuseCluster,
	Categories: []string{"connection"},
	Summary:    "Lets the next command use a slot that is being imported.",
}, {
	Name: "readonly", Arity: 1, Flags: Loading | Stale | Fast,
	Group: "cluster", Since: "3.0.0", Complexity: "O(1)", Handler: refuseCluster,
	Categories: []string{"connection"},
	Summary:    "Allows reads from a replica.",
}, {
	Name: "readwrite", Arity: 1, Flags: Loading | Stale | Fast,
	Group: "cluster", Since: "3.0.0", Complexity: "O(1)", Handler: refuseCluster,
	Categories: []string{"connection"},
	Summary:    "Undoes READONLY.",
}}

// noCluster returns the row of a subcommand that needs a cluster.
func noCluster(name string, arity int, since, complexity, syntax, summary string, varies bool) Command {
	c := Command{
		Name: name, Arity: arity, Flags: Stale,
		Group: "cluster", Since: since, Complexity: complexity, Syntax: syntax, Handler: refuseCluster,
		Summary: summary,
	}
	if varies {
		c.Tips = []string{"nondeterministic_output"}
	}
	return c
}

func onNodeOfSlot(c Command) Command {
	c.Place = PlaceAlone
	return c
}

func refuseCluster(*Ctx) resp.Value { return errNoCluster }

// CLUSTER KEYSLOT key
func clusterKeySlot(c *Ctx) resp.Value { return resp.Int(int64(KeySlot(c.Args[2]))) }

// Slots is the number of hash slots of a cluster, a power of two.
const Slots = 1 << 14

// KeySlot returns the slot of a key: the CRC of its hash tag or, without one, of the
// whole key. The tag is between the first opening brace and the next closing one, if
// it is not empty.
func KeySlot(key []byte) int {
	tagged := key
	for i, ch := range key {
		if ch != '{' {
			continue
		}
		for j := i + 1; j < len(key); j++ {
			if key[j] == '}' {
				if j > i+1 {
					tagged = key[i+1 : j]
				}
				break
			}
		}
		break // only the first opening brace counts
	}
	return int(crc16(tagged)) & (Slots - 1)
}

// crc16 returns the CRC-16/XMODEM: polynomial x^16+x^12+x^5+1, initial value 0, most
// significant bit first.
func crc16(b []byte) uint16 {
	crc := uint16(0)
	for _, ch := range b {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^ch]
	}
	return crc
}

// crcTable has the CRC of each byte.
var crcTable = func() (table [256]uint16) {
	const polynomial = 0x1021
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc >> 15
			crc = crc<<1 ^ carry*polynomial
		}
		table[i] = crc
	}
	return table
}()
