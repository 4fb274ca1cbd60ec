"""The gate: what `make test` runs, what it leaves out, and how long its files take."""
