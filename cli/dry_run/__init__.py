"""What the API server would make of a manifest: a dry run of each object, with the user's rights.

Nothing is written (``dryRun=All``). An object that the API server accepts comes back with all its
defaults; one that it refuses is refused with the field. Where it cannot be asked, the reason is
said, and defaults are applied by ``shared.kube.pod_defaults`` alone.
"""
