"""Our programs in a cluster: replicas of the scheduler, agents, the gate, the read API."""
