"""Last checkpoints of jobs, as annotations that other programs can read."""
