"""The jobs that `bench gang` creates, and its rows for complete and incomplete runs."""

import argparse
from collections import Counter
from collections.abc import Mapping

import pytest

from bench.gang import Run, add_arguments, kinds_of, row
from bench.gang.binding import Measured, partial_gangs
from bench.gang.bursts import Counted
from bench.gang.contestants import contestant
from bench.gang.shapes import GPU, Kind, Shape, volume_and_claim
from shared import labels
from shared.errors import InputError


def measured(bound_at: Mapping[str, float], wanted: int = 4, partial: int = 0) -> Measured:
    created_at = {f"p{i}": 0.1 * i for i in range(wanted)}
    return Measured(wanted, created_at, bound_at, partial)


def all_bound(seconds: float) -> Measured:
    return measured({f"p{i}": seconds * (i + 1) / 4 for i in range(4)})


@pytest.mark.parametrize("text", ["50x20", "50x20:data", "50x20:servers"])
def test_a_shape_is_jobs_by_pods_and_what_they_have(text: str) -> None:
    shape = Shape.parse(text)
    assert (shape.jobs, shape.pods, shape.total, str(shape)) == (50, 20, 1000, text)


def test_members_with_data_claim_the_volume_that_is_bound_to_the_claim() -> None:
    volume, claim = volume_and_claim()
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert volume["spec"]["claimRef"]["name"] == claim["metadata"]["name"]
    for pod in Shape.parse("1x3:data").manifests(Kind.DIRECT, "run"):
        (source,) = [v for v in pod["spec"]["volumes"] if "persistentVolumeClaim" in v]
        name = source["persistentVolumeClaim"]["claimName"]
        assert name == claim["metadata"]["name"]
        assert pod["spec"]["containers"][0]["resources"]["limits"] == {GPU: "1"}


def test_one_member_of_five_is_a_parameter_server() -> None:
    pods = Shape.parse("2x10:servers").manifests(Kind.GATED, "run")
    roles = Counter(pod["metadata"]["labels"][labels.ROLE] for pod in pods)
    assert roles == {"ps": 4, "worker": 16}


MEMBERSHIP: dict[Kind, tuple[str | None, bool, bool]] = {
    Kind.PLAIN: (None, False, False),
    Kind.IN_TREE: (None, False, True),
    Kind.COSCHEDULING: (None, False, True),
    Kind.GATED: (labels.SCHEDULER_NAME, True, False),
    Kind.DIRECT: (labels.SCHEDULER_NAME, False, False),
    Kind.POLICY: (labels.SCHEDULER_NAME, False, False),
}


@pytest.mark.parametrize(("kind", "wanted"), MEMBERSHIP.items(), ids=MEMBERSHIP)
def test_each_scheduler_gets_the_pods_that_it_understands(
    kind: Kind, wanted: tuple[str | None, bool, bool]
) -> None:
    shape = Shape(2, 3)
    pods, groups = list(shape.manifests(kind, "run")), list(shape.groups(kind, "run", "an/api"))
    assert len(pods) == 6
    assert len({pod["metadata"]["name"] for pod in pods}) == 6
    spec = pods[0]["spec"]
    assert (spec.get("schedulerName"), "schedulingGates" in spec, bool(groups)) == wanted
    assert all(group["metadata"]["name"] in {"run-0", "run-1"} for group in groups)
    assert all(group["apiVersion"] == "an/api" for group in groups)


OURS_BY_OPTION: dict[str, tuple[list[str], list[Kind]]] = {
    "with the gate": ([], [Kind.PLAIN, Kind.GATED]),
    "also without": (["--direct"], [Kind.PLAIN, Kind.GATED, Kind.DIRECT]),
    "only without": (["--direct", "--no-gated"], [Kind.PLAIN, Kind.DIRECT]),
    "by policy, others first": (
        ["--policy", "--against", "plain,intree"],
        [Kind.PLAIN, Kind.IN_TREE, Kind.GATED, Kind.POLICY],
    ),
}


@pytest.mark.parametrize(("argv", "wanted"), OURS_BY_OPTION.values(), ids=OURS_BY_OPTION)
def test_ours_take_part_by_option_and_come_last(argv: list[str], wanted: list[Kind]) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert kinds_of(parser.parse_args(argv)) == wanted


@pytest.mark.parametrize("name", ["unknown", "shuntyard"])
def test_only_others_are_named(name: str) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    with pytest.raises(ValueError, match=name):
        kinds_of(parser.parse_args(["--against", name]))


def test_a_version_without_pod_groups_is_refused_before_a_cluster_starts() -> None:
    contestant(Kind.IN_TREE).groups("1.37.2")
    with pytest.raises(InputError, match=r"Kubernetes 1\.35\.4"):
        contestant(Kind.IN_TREE).groups("1.35.4")
    assert contestant(Kind.PLAIN).groups("1.34.4") == ""


def test_no_other_scheduler_runs_while_one_is_measured() -> None:
    running = {kind: set(contestant(kind).components) for kind in Kind}
    for kind, components in running.items():
        others = [c for k, c in running.items() if k is not kind and c != components]
        assert not any(components & other for other in others)


def test_a_row_is_the_median_of_its_runs_and_their_worst() -> None:
    runs = [Run(all_bound(seconds), {"extender": seconds / 10}) for seconds in (1.0, 4.0, 2.0)]
    result = row(Kind.GATED, Shape(1, 4), runs)
    assert (result.bound_per_second, result.ratio_to_plain, result.rounds) == (2.0, None, 3)
    assert (result.pods, result.wanted, result.partial_gangs) == (4, 4, 0)
    assert result.cpu_ms_per_pod == {"extender": 50.0}


def test_each_run_is_compared_with_plain_of_the_same_round() -> None:
    plain = [Run(all_bound(seconds), {}) for seconds in (1.0, 4.0)]
    runs = [Run(all_bound(seconds), {}) for seconds in (2.0, 2.0)]
    result = row(Kind.GATED, Shape(1, 4), runs, plain)
    assert (result.ratios, result.ratio_to_plain) == ((0.5, 2.0), 1.0)


def test_a_row_counts_what_was_bound_in_bursts() -> None:
    runs = [Run(all_bound(1.0), {}, Counted(held=1, pods=pods, in_cycle=1)) for pods in (4, 3)]
    result = row(Kind.DIRECT, Shape(1, 4), runs)
    assert (result.burst_share, result.bound_in_cycle) == (0.875, 2)
    assert row(Kind.PLAIN, Shape(1, 4), [Run(all_bound(1.0), {})]).burst_share is None


def test_the_share_of_bursts_is_not_known_where_time_was_up_first() -> None:
    late = Run(measured({"p0": 1.0}), {}, Counted(held=1, pods=4, in_cycle=0))
    assert row(Kind.DIRECT, Shape(1, 4), [late]).burst_share is None


def test_the_row_of_a_run_that_did_not_bind_all_pods_shows_their_number() -> None:
    runs = [Run(measured({"p0": 2.0, "p1": 4.0}, partial=1), {}), Run(all_bound(4.0), {})]
    result = row(Kind.IN_TREE, Shape(1, 4), runs)
    assert (result.pods, result.wanted, result.partial_gangs) == (2, 4, 1)
    assert result.ratio_to_plain is None


def test_a_run_that_bound_nothing_has_a_row_of_zeros() -> None:
    result = row(Kind.IN_TREE, Shape(1, 4), [Run(measured({}), {"extender": 1.0})])
    assert (result.pods, result.bound_per_second, result.p50_seconds, result.p99_seconds) == (
        0,
        0,
        0,
        0,
    )
    assert result.cpu_ms_per_pod == {}


def test_times_are_from_each_pods_own_create() -> None:
    result = measured({"p0": 1.0, "p1": 1.1, "p2": 1.2, "p3": 9.3})
    assert result.waited_seconds(0.5) == pytest.approx(1.0)
    assert result.waited_seconds(0.99) == pytest.approx(9.0)


def test_a_long_run_shows_how_fast_it_began_and_ended() -> None:
    slower = measured({f"p{i}": i + 1.0 if i < 10 else 2.0 * i for i in range(20)}, wanted=20)
    assert slower.tenths_per_second() == (1.0, 0.5)
    assert all_bound(2.0).tenths_per_second() == (2.0, 2.0)
    assert row(Kind.DIRECT, Shape(1, 20), [Run(slower, {})]).tenths_per_second == (1.0, 0.5)


def test_the_memory_of_a_row_is_the_most_of_its_runs() -> None:
    runs = [Run(all_bound(1.0), {}, extender_mib=mib) for mib in ((90.0, 130.0), (110.0, 120.0))]
    result = row(Kind.DIRECT, Shape(1, 4), runs)
    assert (result.extender_mib, result.extender_most_mib) == (110.0, 130.0)
    assert row(Kind.PLAIN, Shape(1, 4), [Run(all_bound(1.0), {})]).extender_mib is None


def test_a_gang_is_partial_if_some_of_its_pods_are_bound_and_not_all() -> None:
    def pod(job: str, node: str | None) -> dict:
        return {"metadata": {"labels": {labels.JOB: job}}, "spec": {"nodeName": node}}

    pods = [pod("whole", "a"), pod("whole", "a"), pod("torn", "a"), pod("torn", None)]
    assert partial_gangs([*pods, pod("unbound", None), pod("unbound", None)], 2) == 1
