"""The decision log on disk: recorder, writer and segments."""
