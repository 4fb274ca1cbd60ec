"""Nodes with a kubelet, containerd and runc of their own, in namespaces of this machine.

A node is one set of namespaces (network, mount, pid, uts, ipc, cgroup) whose first process is
``init.sh``. When that process is killed, all of the node ends with it: containerd, kubelet,
containers, mounts, network. That simulates a power failure, and makes ``down`` simple.

``machines`` is the interface for the cluster and its tests. Below it: ``site`` (the cluster that
owns the machine's nodes), ``node`` (files and first process of a node), ``agents`` (manifests),
``network`` (one bridge), ``services`` (DNS and kube-proxy), ``control_groups``, ``images`` (made of
Debian packages, without a registry), ``conditions`` (requirements on the machine). See
docs/devcluster-real-nodes.md.
"""
