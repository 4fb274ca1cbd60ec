"""``shuntyard nodes``: the columns that only some clusters have."""

from msgspec.structs import replace

from cli.views.nodes import nodes
from shared.progress import GpuHealth
from shared.readapi import api
from tests.fakes.answers import NODES


def with_gpus(*all_gpus: GpuHealth | None) -> api.NodesResponse:
    """The answer with a node for each state of GPUs."""
    (node,) = NODES.entries
    assert node.agent is not None
    entries = tuple(
        replace(node, name=f"node-{number}", agent=replace(node.agent, gpus=gpus))
        for number, gpus in enumerate(all_gpus)
    )
    return replace(NODES, entries=(*entries, replace(node, name="silent", agent=None)))


def test_faults_of_gpus_are_a_column_where_there_are_any() -> None:
    faulty = GpuHealth(devices=8, lost=1, uncorrected_errors=3)
    table = nodes(with_gpus(GpuHealth(devices=8), faulty, None), wide=False)
    assert "GPU-FAULTS" in table[0]
    assert ["1 of 8 lost, 3 uncorrected errors" in line for line in table[1:]] == [
        False,
        True,
        False,
        False,
    ]


def test_without_faults_there_is_no_such_column() -> None:
    table = nodes(with_gpus(GpuHealth(devices=8, uncorrected_errors=0), None), wide=True)
    assert "GPU-FAULTS" not in table[0]
