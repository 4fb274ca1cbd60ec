"""A pod's training run: its files, its values, its report. No event loop."""
