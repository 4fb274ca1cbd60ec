"""The second shell over the same core: virtual time, the papers' workloads, public traces."""
