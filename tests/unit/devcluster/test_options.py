"""Options of the devcluster, and the errors for invalid ones."""

import pytest

from devcluster.cli import main
from devcluster.components import kwok
from devcluster.options import KwokNodes, Taint, parse_node_counts
from shared.errors import InputError

COUNTS = {
    "nothing": ("", {}),
    "one kind": ("kwok:1000", {"kwok": 1000}),
    "both": ("kwok:1000,process:3", {"kwok": 1000, "process": 3}),
    "none of a kind": ("kwok:0,process:3", {"process": 3}),
}


@pytest.mark.parametrize(("text", "counts"), COUNTS.values(), ids=COUNTS)
def test_nodes_are_kinds_and_numbers(text: str, counts: dict[str, int]) -> None:
    assert parse_node_counts(text) == counts


WRONG_COUNTS = ("kwok", "kwok:", "kwok:-1", "kwok:x", "virtual:3", "kwok:1,kwok:2")


@pytest.mark.parametrize("text", WRONG_COUNTS)
def test_anything_else_is_an_error_that_shows_the_form(text: str) -> None:
    with pytest.raises(InputError, match="kwok:1000,process:3"):
        parse_node_counts(text)


TAINTS = {
    "key=value:NoSchedule": Taint("key", "value", "NoSchedule"),
    "example.com/key:NoExecute": Taint("example.com/key", "", "NoExecute"),
}


@pytest.mark.parametrize(("text", "taint"), TAINTS.items(), ids=TAINTS)
def test_a_taint_is_written_as_for_kubectl(text: str, taint: Taint) -> None:
    assert Taint.parse(text) == taint


@pytest.mark.parametrize("text", ["key", "key=value", "key=value:Never", ":NoSchedule"])
def test_a_wrong_taint_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match="KEY=VALUE:EFFECT"):
        Taint.parse(text)


def test_a_fake_node_has_its_options() -> None:
    nodes = KwokNodes(
        count=300,
        cpu="8",
        extended={"nvidia.com/gpu": "4"},
        labels={"zone": "a"},
        taints=(Taint("gpu", "", "NoSchedule"),),
    )
    assert nodes.names()[0] == "kwok-0000"
    assert nodes.names()[-1] == "kwok-0299"
    node = kwok.manifest("kwok-0299", 299, nodes)
    allocatable = {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "4"}
    assert node["status"]["allocatable"] == allocatable
    assert node["metadata"]["labels"]["zone"] == "a"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "kwok-0299"
    assert node["spec"]["taints"] == [{"key": "gpu", "value": "", "effect": "NoSchedule"}]
    assert node["status"]["addresses"][0]["address"] == "10.128.1.43"


COMMANDS = {
    "a wrong node kind": (["up", "--nodes", "virtual:3"], "kwok:1000,process:3"),
    "a label without value": (["up", "--nodes", "kwok:1", "--node-label", "x"], "KEY=VALUE"),
}


@pytest.mark.parametrize(("argv", "text"), COMMANDS.values(), ids=COMMANDS)
def test_wrong_use_of_the_command_has_exit_code_2_and_a_message(
    argv: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("command", ["status", "down", "stop etcd", "restart etcd"])
def test_a_directory_without_a_cluster_has_exit_code_1_and_a_message(
    command: str, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = command.split()
    assert main([name, "--dir", str(tmp_path / "none"), *rest]) == 1
    assert f"there is no cluster in {tmp_path / 'none'}" in capsys.readouterr().err
