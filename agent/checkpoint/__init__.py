"""The agent's side of the checkpoint contract: files in a trainer's checkpoint directory."""
