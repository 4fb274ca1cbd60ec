"""What the experiments of CPS share: the paper's values, one cycle on a cluster, the built-in."""
