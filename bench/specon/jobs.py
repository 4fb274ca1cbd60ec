"""Manifests of training jobs of ``bench.specon.trainer``, and the paths of their files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from shared import labels

Manifest = dict[str, Any]

PROGRAM: Final = "specon-trainer"
"""Name of the ConfigMap with the training program."""

_SOURCE: Final = Path(__file__).with_name("trainer.py")
_MOUNTS: Final = {"program": "/training", "job": "/job"}


@dataclass(frozen=True)
class Training:
    """A training job of one pod, or one of the equal pods of a larger one.

    Attributes:
        name: Of the job.
        steps: Number of steps.
        steepness: k of the loss's shape (``bench.specon.trainer``).
        floor: f, the final loss; it begins at 1.
        noise: Standard deviation of the loss, relative.
        seed: Of the noise.
        step_cpu_seconds: CPU time of a step.
        save_seconds: Duration of writing a checkpoint.
        save_every_seconds: Interval of checkpoints without a request; None: none.
        poll_seconds: Poll interval for requests.
        cpu: CPU request of the pod.
        movable: Whether it opts in to migration.
        node_selector: Labels of its possible nodes.
        annotations: Further annotations of the pod.
        restart_policy: Of the pod.
        index_label: Label with a pod's index, where several equal pods have separate files; empty:
            there is one pod.
    """

    name: str
    steps: int
    steepness: float = 5.2
    floor: float = 0.1
    noise: float = 0.003
    seed: int = 1
    step_cpu_seconds: float = 0.04
    save_seconds: float = 0.0
    save_every_seconds: float | None = None
    poll_seconds: float = 0.5
    cpu: str = "20m"
    movable: bool = True
    node_selector: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    restart_policy: str = "Never"
    index_label: str = ""

    def job(self, directory: Path) -> Manifest:
        """Return a Job with one pod; ``directory`` is the job's directory on the shared volume."""
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": self.name},
            "spec": {
                "completions": 1,
                "parallelism": 1,
                "backoffLimit": 6,
                "template": self.template(directory),
            },
        }

    def template(self, directory: Path) -> Manifest:
        """Return the template of its pods."""
        resources = {"requests": {"cpu": self.cpu, "memory": "32Mi"}}
        mounts = [{"name": name, "mountPath": path} for name, path in _MOUNTS.items()]
        container = {
            "name": "training",
            "image": "python",
            "command": ["python3", f"{_MOUNTS['program']}/{_SOURCE.name}"],
            "env": self._environment(),
            "resources": resources,
            "volumeMounts": mounts,
        }
        return {
            "metadata": {"annotations": self._annotations(), "labels": {}},
            "spec": {
                "schedulerName": labels.SCHEDULER_NAME,
                "schedulingGates": [{"name": labels.GATE}],
                "restartPolicy": self.restart_policy,
                "terminationGracePeriodSeconds": 10,
                "nodeSelector": dict(self.node_selector),
                "containers": [container],
                "volumes": [
                    {"name": "program", "configMap": {"name": PROGRAM}},
                    {
                        "name": "job",
                        "hostPath": {"path": str(directory), "type": "DirectoryOrCreate"},
                    },
                ],
            },
        }

    def _annotations(self) -> Mapping[str, str]:
        opt_in = {labels.CHECKPOINT: self._own("checkpoints")} if self.movable else {}
        return {**opt_in, **self.annotations}

    def _own(self, path: str) -> str:
        return f"{path}/$(INDEX)" if self.index_label else path

    def _environment(self) -> list[Mapping[str, Any]]:
        every = self.save_every_seconds
        values = {
            "SHUNTYARD_METRICS_FILE": "/job/metrics/$(POD_NAME).jsonl",
            "SHUNTYARD_CHECKPOINT_DIR": self._own("/job/checkpoints"),
            "LIVES": self._own("/job/lives"),
            "STEPS": str(self.steps),
            "STEP_CPU_SECONDS": str(self.step_cpu_seconds),
            "STEEPNESS": str(self.steepness),
            "FLOOR": str(self.floor),
            "NOISE": str(self.noise),
            "SEED": str(self.seed),
            "SAVE_SECONDS": str(self.save_seconds),
            "SAVE_EVERY_SECONDS": "" if every is None else str(every),
            "POLL_SECONDS": str(self.poll_seconds),
        }
        fields = {
            "POD_NAME": "metadata.name",
            "SHUNTYARD_POD_UID": "metadata.uid",
            "SHUNTYARD_GENERATION": f"metadata.annotations['{labels.GENERATION}']",
            "NODE_NAME": "spec.nodeName",
        }
        if self.index_label:
            fields["INDEX"] = f"metadata.labels['{self.index_label}']"
        looked_up = [
            {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
            for name, path in fields.items()
        ]
        return [*looked_up, *({"name": name, "value": value} for name, value in values.items())]


def program() -> Manifest:
    """Return the ConfigMap with the training program."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": PROGRAM},
        "data": {_SOURCE.name: _SOURCE.read_text()},
    }
