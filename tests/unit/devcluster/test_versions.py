"""Every supported version of Kubernetes has its pins, and they name that version."""

import re
from pathlib import Path

import pytest

from devcluster.programs.building import MODULES
from devcluster.programs.versions import DEFAULT_KUBERNETES, RELEASES, Binary, release

KUBERNETES = sorted(RELEASES)
STAGED = re.compile(r"=> k8s\.io/\S+ v(\S+)")


def pins(binary: Binary) -> Path:
    return MODULES / binary.module / (binary.pins or "go.mod")


@pytest.mark.parametrize("kubernetes", KUBERNETES)
def test_the_pins_of_a_version_name_it_and_nothing_else(kubernetes: str) -> None:
    file = pins(release(kubernetes)["kube-apiserver"])
    text = file.read_text()
    assert f"\tk8s.io/kubernetes v{kubernetes}\n" in text
    assert set(STAGED.findall(text)) == {f"0.{kubernetes.removeprefix('1.')}"}
    assert file.with_suffix(".sum").exists()


@pytest.mark.parametrize("kubernetes", KUBERNETES)
def test_a_version_has_the_same_programs_as_every_other(kubernetes: str) -> None:
    assert set(release(kubernetes)) == set(release(DEFAULT_KUBERNETES))


def test_programs_shared_by_two_versions_are_kept_once() -> None:
    first, second = release("1.34.4"), release(DEFAULT_KUBERNETES)
    shared = {name for name in first if first[name].folder == second[name].folder}
    assert {"etcd", "kwok"} <= shared
    assert not any(first[name].module == "kubernetes" for name in shared)
    assert all(first[name] == second[name] for name in shared)
