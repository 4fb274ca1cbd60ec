"""Kueue's Topology objects: the node labels of their levels, or why they cannot be read."""

from typing import Any

import pytest

from shared.kube import resources, topologies
from shared.kube.errors import OddObjectError
from shared.model import Topology
from tests.fakes.kube_objects import encoded


def decoded(spec: Any) -> Topology:
    return topologies.decode(encoded({"metadata": {"name": "default"}, "spec": spec}))


LEVELS = {
    "two": ({"levels": [{"nodeLabel": "a/block"}, {"nodeLabel": "a/rack"}]}, ("a/block", "a/rack")),
    "none": ({"levels": []}, ()),
    "no spec": (None, ()),
}


@pytest.mark.parametrize(("spec", "want"), LEVELS.values(), ids=LEVELS)
def test_a_topology_has_levels(spec: Any, want: tuple[str, ...]) -> None:
    assert decoded(spec) == Topology(name="default", levels=want)
    assert resources.TOPOLOGIES.key("", "default") == decoded(spec).key


ODD = {
    "a level without a label": {"levels": [{}]},
    "an empty label": {"levels": [{"nodeLabel": ""}]},
    "a label that is no text": {"levels": [{"nodeLabel": 7}]},
    "more levels than Kueue allows": {"levels": [{"nodeLabel": f"a/{i}"} for i in range(17)]},
    "a label that is too long": {"levels": [{"nodeLabel": "a" * 318}]},
}


@pytest.mark.parametrize("spec", ODD.values(), ids=ODD)
def test_a_topology_is_odd_with(spec: Any) -> None:
    with pytest.raises(OddObjectError):
        decoded(spec)
