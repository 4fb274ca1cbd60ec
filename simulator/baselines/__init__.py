"""Other people's schedulers, one file each: measured against, never used in a cluster."""
