package upstream

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
)

// Place returns where the calls of a command run.
func (u *Upstream) Place(cmd *commands.Command) call.Place { return PlaceOf(cmd) }

// Clustered reports whether the upstream is a cluster, as far as that is known.
func (u *Upstream) Clustered() bool { return u.topology.Load().kind == Cluster }

func (u *Upstream) Await(c *call.Call, over <-chan struct{})    {}
func (u *Upstream) Watch(c *call.Call, w call.Watch) call.Watch { return nil }
func (u *Upstream) Subscribed(kind call.Kind, topic string)     {}
func (u *Upstream) Unsubscribed(kind call.Kind, topic string)   {}
func (u *Upstream) Cluster(cmd *commands.Command, args [][]byte, addr string) resp.Value {
	return resp.None
}
func (u *Upstream) Status() []call.Fact { return nil }
