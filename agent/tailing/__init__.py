"""Following files of other programs: by polling, read-only, only inside the volume."""
