"""What a cluster has on this machine: files, ports and processes."""
