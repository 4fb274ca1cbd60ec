"""The images' tags: the first two lead to the same images; to a kubelet they are two versions."""

from typing import Final

from devcluster.programs.versions import DEFAULT_KUBERNETES

FIRST: Final = "1"
NEXT: Final = "2"
SCHEDULER: Final = f"v{DEFAULT_KUBERNETES}"
"""A further one of kube-scheduler, as Kubernetes calls its versions."""
