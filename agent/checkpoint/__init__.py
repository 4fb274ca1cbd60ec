"""The agent's side of the checkpoint contract: files in the directory that a trainer has opened."""
