"""``python -m devcluster.demo``: real training through a real kube-scheduler and our extender.

``jobs`` reads the examples; ``watching`` observes them independently of the extender; ``history``
and ``choices`` judge the observations (pure); ``curves`` reads the losses; ``table`` draws;
``last`` parks, prices and grows a job; ``report`` sums up; ``show`` runs it all.
"""
