"""Kueue's Topology: raw JSON to ``shared.model.Topology``.

Source:
    Kueue v0.19 ``apis/kueue/v1beta2/topology_types.go``: at most 16 levels, each a node label.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from shared.kube import wire
from shared.kube.parse import Data, names_the_object
from shared.model import Topology

_Label = Annotated[str, Meta(min_length=1, max_length=317)]
"""A prefix of 253 characters, a slash and a name of 63."""


class _Level(Struct, rename="camel"):
    """``spec.levels[]``."""

    node_label: _Label


class _Spec(Struct):
    """``spec``."""

    levels: Annotated[list[_Level], Meta(max_length=16)] = []


class _Topology(Struct):
    """A Topology."""

    metadata: wire.Meta
    spec: _Spec | None = None


_TOPOLOGY: Final = msgspec.json.Decoder(_Topology)


@names_the_object
def decode(data: Data) -> Topology:
    """Return a Topology.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _TOPOLOGY.decode(data)
    levels = () if raw.spec is None else tuple(level.node_label for level in raw.spec.levels)
    return Topology(name=raw.metadata.name, levels=levels)
