"""What the papers assume of training jobs: speeds, shares of a processor, slots."""
