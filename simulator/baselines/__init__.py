"""Published schedulers and simple rules to compare with; never used in a cluster."""
