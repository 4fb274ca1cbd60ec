"""Which directory belongs to which pod, by its name alone."""

import pytest

from agent.sampling.groups import directory_name, is_usable, uid_of
from tests.unit.agent.sampling.trees import SHAPES, STATIC, UID, container_of, path_of

NO_PODS = {
    "a QoS slice": "kubepods-burstable.slice",
    "the kubelet's root": "kubepods",
    "a service": "kubelet.service",
    "a container of containerd": "cri-containerd-3f3f.scope",
    "a container of CRI-O": "crio-3f3f.scope",
    "a container of cgroupfs": "3f" * 32,
    "a slice of another program": f"machine-pod{UID.replace('-', '_')}.slice",
    "a name that goes on after the uid": f"pod{UID}.scope",
    "no uid at all": "pod",
}


@pytest.mark.parametrize("uid", [UID, STATIC], ids=["of the API server", "of a static pod"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_uid_is_read_from_the_directory_of_every_driver(shape: str, uid: str) -> None:
    assert uid_of(path_of(shape, uid).rpartition("/")[2]) == uid


@pytest.mark.parametrize("name", NO_PODS.values(), ids=NO_PODS)
def test_other_directories_are_no_pods(name: str) -> None:
    assert uid_of(name) is None


@pytest.mark.parametrize("shape", [one for one in SHAPES if SHAPES[one][1]])
def test_a_container_is_not_taken_for_a_pod(shape: str) -> None:
    assert uid_of(container_of(shape, UID).rpartition("/")[2]) is None


@pytest.mark.parametrize("shape", SHAPES)
def test_the_name_below_a_known_parent_is_the_one_that_the_driver_gives(shape: str) -> None:
    parent, _, name = path_of(shape, UID).rpartition("/")
    assert directory_name(parent.rpartition("/")[2], UID) == name


@pytest.mark.parametrize("uid", ["", "..", "../../etc", "a/b", "-a", "a\0b", "a" * 64])
def test_an_invalid_uid_never_becomes_a_path(uid: str) -> None:
    assert not is_usable(uid)
