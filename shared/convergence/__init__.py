"""How far a training run has converged: SpeCon's Algorithm 1, and where its curve leads."""
