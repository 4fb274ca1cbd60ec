"""The read API: queue, jobs, nodes, prices, explanations and what-if."""
