package replication

// Rules say what is refused for the sake of replication.
type Rules struct {
	ReadOnly    bool  // replica-read-only: clients may not write
	NeedsMaster bool  // replica-serve-stale-data no: nothing is served while the link is down
	MinReplicas int   // min-replicas-to-write
	MaxLagUs    int64 // min-replicas-max-lag
}
