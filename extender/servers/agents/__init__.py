"""The listener for agents: heartbeats in, commands out."""
