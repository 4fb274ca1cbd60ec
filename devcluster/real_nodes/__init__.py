"""Nodes with a kubelet, containerd and runc of their own, in namespaces of this machine.

A node is one set of namespaces (network, mount, pid, uts, ipc, cgroup) whose first process is
``init.sh``. When that process is killed, everything of the node ends with it: containerd, kubelet,
containers, mounts, network. That is what a power failure is, and what makes ``down`` simple.

``machines`` is what the cluster and its tests use. Below it: ``site`` (whose nodes a machine has),
``node`` (what one node is started with), ``agents`` and ``volumes`` (manifests), ``network`` (one
bridge), ``control_groups``, ``images`` (made of Debian packages, without a registry),
``conditions`` and ``packages`` (what the machine must have). See docs/devcluster-real-nodes.md.
"""
