"""What is reported: the node's state, an outbox for each replica, heartbeat bodies. No I/O."""
