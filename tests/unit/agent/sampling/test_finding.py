"""The source that is chosen on each machine."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.sampling.finding import Source, find
from shared.errors import InputError
from shared.model import Uid
from shared.progress import Use
from tests.unit.agent.sampling.trees import (
    UID,
    empty_version1,
    empty_version2,
    path_of,
    set_version2,
)

MACHINES = {
    "version 2": (empty_version2, Source.CGROUP2, "cgroup v2 below {root}"),
    "version 1": (empty_version1, Source.CGROUP1, "cgroup v1 (cpu, cpuacct, memory) beside"),
    "neither": (lambda path: path, Source.PROCESSES, "processes by their environment"),
}


@pytest.mark.parametrize(("make", "source", "words"), MACHINES.values(), ids=MACHINES)
def test_the_available_source_is_chosen_and_described(
    tmp_path: Path, make, source: Source, words: str
) -> None:
    root = make(tmp_path)
    samplers = find(cgroup_root=root)
    assert samplers.source is source
    assert samplers.description.startswith("pods: " + words.format(root=root))
    assert "processes by their environment; GPUs: none (" in samplers.description
    samplers.close()


@pytest.mark.parametrize(("make", "source", "words"), MACHINES.values(), ids=MACHINES)
def test_only_the_configured_source_is_read(
    tmp_path: Path, make, source: Source, words: str
) -> None:
    root = make(tmp_path)
    assert ", then" not in find(source, cgroup_root=root).description


def test_a_hybrid_machine_is_read_as_version_1(tmp_path: Path) -> None:
    root = empty_version1(tmp_path)
    empty_version2(root / "unified")
    assert find(cgroup_root=root).source is Source.CGROUP1


@pytest.mark.parametrize("source", [Source.CGROUP1, Source.CGROUP2])
def test_a_configured_source_that_is_missing_is_an_error(tmp_path: Path, source: Source) -> None:
    with pytest.raises(InputError, match=f"{source}.*{tmp_path}"):
        find(source, cgroup_root=tmp_path)


def test_no_source_can_be_configured(tmp_path: Path) -> None:
    samplers = find(Source.NONE, cgroup_root=tmp_path)
    assert samplers.description.startswith("pods: nothing; GPUs: ")
    assert samplers.pods.sample([Uid(UID)], 0.0) == {}


def test_a_pod_is_sampled_and_forgotten(tmp_path: Path) -> None:
    samplers = find(cgroup_root=empty_version2(tmp_path), cores_override=0.3)
    group = tmp_path / path_of("containerd with systemd, Burstable", UID)
    seen = []
    for now, uids in ((0.0, [UID]), (2.0, [UID]), (3.0, []), (4.0, [UID])):
        set_version2(group, cpu_seconds=now / 4, memory_bytes=8, inactive_bytes=3, periods=9)
        seen.append(samplers.pods.sample([Uid(uid) for uid in uids], now))
    new = Use(memory_bytes=5, cpu_pressure_ratio=0.0)
    known = replace(new, cpu_cores=0.25, throttled_ratio=0.0, idle_seconds=0.0)
    assert seen == [{UID: new}, {UID: known}, {}, {UID: new}]
    assert samplers.node.cores == 0.3
