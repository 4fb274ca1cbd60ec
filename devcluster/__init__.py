"""A real control plane on this machine: kwok nodes, and nodes whose containers are processes."""
