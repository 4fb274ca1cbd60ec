from pathlib import Path

import pytest

from devcluster.process_node.errors import RefusedError
from devcluster.process_node.options import NodeOptions, parse, parse_nodes
from devcluster.process_node.refusals import left_out, refuse
from shared.errors import InputError
from tests.unit.process_node.pods import container, pod


def test_nodes_are_read_from_the_command_line() -> None:
    options = parse(["--kubeconfig", "k", "--nodes", "a:4:8Gi,b:500m:1Gi", "--dir", "/d"])
    assert options.nodes == (NodeOptions("a", "4", "8Gi"), NodeOptions("b", "500m", "1Gi"))
    assert (options.directory, options.cpu_budget_cores) == (Path("/d"), 0.3)


WRONG = {
    "nothing": "",
    "no memory": "a:4",
    "no name": ":4:8Gi",
    "no quantity": "a:four:8Gi",
    "the same twice": "a:4:8Gi,a:4:8Gi",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_nodes_that_cannot_be_read_are_an_error(text: str) -> None:
    with pytest.raises(InputError):
        parse_nodes(text)


def test_a_container_without_command_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"container main: .*command") as caught:
        refuse(pod({"name": "main", "image": "busybox"}))
    assert caught.value.reason == "ImageNotSupported"


def test_unsupported_fields_are_named() -> None:
    one = pod(container(livenessProbe={}, lifecycle={}), hostNetwork=True)
    refuse(one)
    assert left_out(one) == ("hostNetwork", "main.livenessProbe", "main.lifecycle")
