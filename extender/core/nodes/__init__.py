"""Nodes as arrays: the node table, class masks and feasibility."""
