"""The facts of each kind say of an object what the decoder of its kind reads in it."""

from typing import Any

import pytest

from extender.core.kinds import registry
from extender.core.kinds.parking_facts import ParkingFacts
from shared.kube import kinds, parse
from shared.model import Owner
from tests.fakes.kube_objects import encoded

DECODERS = {f"{kind.kind}.{kind.group}": kind.decode for kind in kinds.OWNERS} | {
    "Job.batch": parse.decode_job,
    "StatefulSet.apps": parse.decode_stateful_set,
    "Deployment.apps": parse.decode_deployment,
}
TASK = {"name": "worker", "replicas": 2, "minAvailable": 1}
SPECS: dict[str, dict[str, Any]] = {
    "Job.batch.volcano.sh": {"minAvailable": 1, "tasks": [TASK]},
    "RayJob.ray.io": {"shutdownAfterJobFinishes": True},
    **{f"{kind}.kubeflow.org": {"runPolicy": {}} for kind in ("PyTorchJob", "TFJob", "MPIJob")},
    **{f"{kind}.kubeflow.org": {"runPolicy": {}} for kind in ("XGBoostJob", "PaddleJob", "JAXJob")},
}
FACTS = {f"{facts.kind}.{facts.group}": facts for facts in registry.all_parking_facts()}


def read(name: str) -> Owner:
    spec = SPECS.get(name, {})
    return DECODERS[name](encoded({"metadata": {"name": "it", "namespace": "n"}, "spec": spec}))


def fields(owner: Owner) -> set[str]:
    """The last words of the fields that pause an owner."""
    pointers = [owner.suspend_field] if owner.suspend_field else []
    pointers += [] if owner.pause is None else [field for field, _ in owner.pause.numbers]
    return {pointer.rpartition("/")[2] for pointer in pointers}


@pytest.mark.parametrize(("name", "facts"), FACTS.items(), ids=FACTS)
def test_the_field_is_the_one_that_is_written(name: str, facts: ParkingFacts) -> None:
    owner = read(name)
    assert owner.can_pause
    assert registry.parking_facts(owner) is facts
    named = {part.strip().rpartition(".")[2] for part in facts.field.replace(";", ",").split(",")}
    assert named == fields(owner)


@pytest.mark.parametrize("name", DECODERS)
def test_what_can_be_paused_has_facts(name: str) -> None:
    assert read(name).can_pause == (name in FACTS)


def test_a_kind_whose_pods_end_by_themselves_says_what_becomes_of_them() -> None:
    numbered = [one for one in FACTS.values() if "suspend" not in one.field]
    assert all(one.reruns for one in numbered)
