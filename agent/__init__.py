"""The node agent: reads training progress and resource use on one node, and reports both."""
