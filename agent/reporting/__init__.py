"""What is reported to whom: the node's state, each replica's share of it, bodies. No I/O."""
