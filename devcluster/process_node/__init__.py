"""Nodes whose containers are local processes: a small kubelet.

``main`` puts everything together. A pod's way: ``node`` (admission) → ``pod_worker`` (volumes,
deadline, end) → ``container_sequence`` (init containers, then the others) → ``container_runner``
(restarts) → ``container_process`` + ``sandbox`` (one process), while ``status`` says what that
means and ``reporter`` writes it. What is refused and what is left out: table in ``refusals``;
volumes: table in ``volumes``; how a container sees the machine: table in ``sandbox``.

Log files stay after the pod is gone, until the directory is removed.
"""
