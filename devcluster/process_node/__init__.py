"""Nodes whose containers are local processes: a small kubelet.

``main`` assembles everything. The steps of a pod: ``node`` (admission) → ``pod_worker`` (volumes,
deadline, end) → ``container_runner`` (init containers, then the others; restarts) →
``container_process`` + ``sandbox`` (one process), while ``status`` derives the pod's status and
``reporter`` writes it. Unsupported features: table in ``refusals``; volumes: table in ``volumes``;
a container's view of the machine: table in ``sandbox``.

Log files stay after the pod is gone, until the directory is removed.
"""
