"""Numbers that we publish, each made by a command that anybody can run (bench/README.md)."""
