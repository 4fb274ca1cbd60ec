"""Parts that use this machine: addresses, cgroups, leftover processes, the new root."""

import subprocess
from pathlib import Path

import pytest

from devcluster.process_node import process
from devcluster.process_node.addresses import Block, NodeAddresses
from devcluster.process_node.cgroups import CgroupBudget, Version2, period_and_quota_us
from devcluster.process_node.cpu_budget import default_budget_cores
from devcluster.process_node.errors import AddressError
from devcluster.process_node.process import Identity, Records
from devcluster.process_node.sandbox_entry import rebuilt_directories


def test_two_clusters_never_share_addresses(tmp_path: Path) -> None:
    first, second = Block(tmp_path), Block(tmp_path)
    assert first.number != second.number
    wish = first.number
    first.close()
    again = Block(tmp_path)
    assert again.number == wish
    second.close()
    again.close()


def test_an_address_is_given_out_again_as_late_as_possible() -> None:
    addresses = NodeAddresses(20, 3)
    first = addresses.take()
    assert (first, addresses.host_ip) == ("127.20.3.2", "127.20.3.1")
    addresses.give_back(first)
    rest = [addresses.take() for _ in range(253)]
    assert (rest[0], rest[-1]) == ("127.20.3.3", first)
    with pytest.raises(AddressError):
        addresses.take()


QUOTAS = {
    "the usual period": (0.3, (20_000, 6_000)),
    "a longer one for a small share": (0.05, (40_000, 2_000)),
    "the kernel's least quota": (0.0005, (1_000_000, 1_000)),
}


@pytest.mark.parametrize(("cores", "want"), QUOTAS.values(), ids=QUOTAS)
def test_period_and_quota_stay_within_the_kernels_limits(
    cores: float, want: tuple[int, int]
) -> None:
    assert period_and_quota_us(cores) == want


class WrittenTree(Version2):
    """Version 2 on a plain directory: files appear as the kernel would make them."""

    def make(self, group: Path) -> None:
        group.mkdir(exist_ok=True)
        (group / "cgroup.subtree_control").write_text("memory")
        super().make(group)


def test_pods_of_a_node_have_equal_quotas_that_follow_their_number(tmp_path: Path) -> None:
    budget = CgroupBudget(WrittenTree(tmp_path), "cluster", "node", 0.3)
    node = tmp_path / "cluster" / "node"
    assert (node / "cgroup.subtree_control").read_text() == "+cpu"
    assert budget.join("a") == [str(node / "poda" / "cgroup.procs")]
    assert (node / "poda" / "cpu.max").read_text() == "6000 20000"
    budget.join("b")
    quotas = {(node / name / "cpu.max").read_text() for name in ("poda", "podb")}
    assert quotas == {"3000 20000"}
    (node / "poda" / "cpu.max").unlink()
    budget.leave("a")
    assert (node / "podb" / "cpu.max").read_text() == "6000 20000"


def test_all_nodes_together_use_at_most_one_core() -> None:
    assert default_budget_cores(3, 0.3) == 0.3
    assert default_budget_cores(10, 0.3) == pytest.approx(0.1)


def test_a_recorded_group_is_ended_once(tmp_path: Path) -> None:
    records = Records(tmp_path)
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as child:
        found = process.identity(child.pid)
        assert found is not None
        records.add(found)
        assert records.end_all() == [child.pid]
        assert child.wait(5.0) == -9
    assert records.end_all() == []


def test_a_process_that_only_has_the_number_is_spared(tmp_path: Path) -> None:
    records = Records(tmp_path)
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as child:
        found = process.identity(child.pid)
        assert found is not None
        records.add(Identity(found.pid, found.start_ticks + 1, found.boot))
        records.add(Identity(found.pid, found.start_ticks, "another boot"))
        assert records.end_all() == []
        assert child.poll() is None
        child.kill()


def test_directories_are_rebuilt_only_where_a_mount_point_is_missing(tmp_path: Path) -> None:
    present, missing = tmp_path / "present", tmp_path / "a" / "b"
    present.mkdir()
    assert rebuilt_directories([present]) == {Path("/")}
    assert rebuilt_directories([missing]) == {tmp_path, *tmp_path.parents}
