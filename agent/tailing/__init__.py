"""Following files that others write: by polling, read-only, never out of the volume."""
