"""The agents' listener: heartbeats in, commands out."""
