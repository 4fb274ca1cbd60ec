"""Rules that only the simulator uses."""
