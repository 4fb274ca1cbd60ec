"""``python -m devcluster.demo``: real training through a real kube-scheduler and our extender.

``jobs`` reads the examples; ``watching`` is our own watch; ``history`` and ``choices`` judge what
it saw (pure); ``curves`` reads the losses; ``rows`` and ``table`` draw; ``report`` sums up;
``show`` runs it all.
"""
