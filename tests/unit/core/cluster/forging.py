"""A forger who chooses every field of a pod, and owners that it would have us change.

The victims never used Shuntyard: no annotation of ours is on them or in their templates. The same
owners with the annotations in their pod template are the honest jobs of the same test, so that a
test fails too where nothing would ever be changed.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from shared import labels
from shared.model import JobState, Owner, OwnerReference, Pod, WorkerCount
from tests.fakes.builders import make_owner, make_pod, reference_to

APP = {"app": "db"}
MARKS = {**APP, labels.POD_TEMPLATE_HASH: "5d4f"}
"""Of pods: the second is a ReplicaSet's."""
KEYS = {
    labels.WORKERS: "1..5",
    labels.SHRINK: "terminate",
    labels.CHECKPOINT: "",
    labels.UTILITY: "sigmoid:1000,0,1000h",
    labels.TRAINING: "epochs=1,chunks=4,batches=100,step=3s",
}
"""All that makes us write to an owner."""


def job(namespace: str = "prod", template: Mapping[str, str] | None = None, size: int = 2) -> Owner:
    """An Indexed Job: its number may change, and it can be suspended."""
    fields = ("/spec/parallelism", "/spec/completions")
    return replace(
        make_owner("db", namespace=namespace, size=size, template=template, selects=APP),
        counts=(WorkerCount(count=size, fields=fields),),
        suspend_field="/spec/suspend",
        job=JobState(failures_left=6),
    )


def stateful_set(
    namespace: str = "prod", template: Mapping[str, str] | None = None, size: int = 2
) -> Owner:
    return replace(
        make_owner(
            "db", kind="StatefulSet", namespace=namespace, size=size, template=template, selects=APP
        ),
        counts=(WorkerCount(count=size, fields=("/spec/replicas",), least=0),),
    )


def deployment(
    namespace: str = "prod", template: Mapping[str, str] | None = None, size: int = 2
) -> tuple[Owner, Owner]:
    """A Deployment and its ReplicaSet, which owns the pods."""
    common = {"namespace": namespace, "api_version": "apps/v1", "size": size, "template": template}
    top = replace(
        make_owner("db", kind="Deployment", selects=APP, **common),
        counts=(WorkerCount(count=size, fields=("/spec/replicas",), least=0),),
    )
    below = make_owner("db-5d4f", kind="ReplicaSet", selects=APP, controller=top, **common)
    return below, top


def pods(
    owner: Owner,
    count: int = 2,
    *,
    namespace: str = "",
    annotations: Mapping[str, str] | None = None,
    marks: Mapping[str, str] | None = None,
    reference: OwnerReference | None = None,
    gated: bool = False,
    node: str = "a",
    prefix: str = "db",
    **more: object,
) -> list[Pod]:
    """Pods that claim to be the owner's, of any namespace and with any annotations."""
    made = [
        make_pod(
            f"{prefix}-{i}",
            namespace=namespace or owner.namespace,
            index=i,
            owner=owner,
            labels=MARKS if marks is None else {**MARKS, **marks},
            annotations=annotations,
            gated=gated,
            node=None if gated else node,
            plan="" if gated else "p",
            memory="0",
            **more,  # type: ignore[arg-type] - passed through
        )
        for i in range(count)
    ]
    return [replace(pod, controller=reference or reference_to(owner)) for pod in made]


def honest(made: Sequence[Pod]) -> list[Pod]:
    """The same pods, with what their template states."""
    return [replace(pod, annotations={**KEYS, **pod.annotations}) for pod in made]
