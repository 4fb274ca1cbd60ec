"""A pod's training run: where its files are, what they say, where it stands. No event loop."""
