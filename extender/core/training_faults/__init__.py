"""Training that hangs, has diverged, or has a member that is slower than the others."""
