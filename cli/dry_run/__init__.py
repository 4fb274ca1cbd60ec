"""A dry run of a manifest by the API server, object by object, with the user's rights.

Nothing is stored (``dryRun=All``). An accepted object comes back with all its defaults; a refused
one is reported with the field. For an object that cannot be checked the reason is reported, and
the extender applies the defaults of ``shared.kube.pod_defaults`` alone.
"""
