"""Laws of sampling: each group belongs to its own pod, and no counter gives a wrong rate."""

from hypothesis import given
from hypothesis import strategies as st

from agent.sampling.groups import directory_name, is_usable, uid_of
from agent.sampling.kernel_files import value
from agent.sampling.readings import Rates, Reading, Throttling, cores

UIDS = st.one_of(st.uuids().map(str), st.text("0123456789abcdef", min_size=32, max_size=32))
PARENTS = st.sampled_from(
    [
        "kubepods",
        "burstable",
        "besteffort",
        "kubepods.slice",
        "kubepods-burstable.slice",
        "kubepods-besteffort.slice",
        "kubelet-kubepods.slice",
        "kubelet-kubepods-burstable.slice",
        "a-b-kubepods.slice",
        "worker-0",
    ]
)
COUNTS = st.integers(0, 2**62)


@given(UIDS, PARENTS)
def test_the_uid_is_read_from_a_drivers_group_name(uid: str, parent: str) -> None:
    assert uid_of(directory_name(parent, uid)) == uid


@given(UIDS, UIDS, PARENTS)
def test_two_pods_never_share_a_name(one: str, other: str, parent: str) -> None:
    assert (directory_name(parent, one) == directory_name(parent, other)) == (one == other)


@given(st.text(max_size=80))
def test_a_uid_read_from_a_name_is_in_it_and_valid(name: str) -> None:
    uid = uid_of(name)
    if uid is not None:
        assert is_usable(uid)
        assert uid in name or uid.replace("-", "_") in name


@given(UIDS, st.text("-_abcdef0123456789podlicer.", min_size=1, max_size=12), st.booleans())
def test_a_name_with_more_than_the_uid_is_not_that_pods(uid: str, more: str, first: bool) -> None:
    name = more + uid if first else uid + more
    assert uid_of(f"pod{name}") != uid


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0.001, 1e6)), min_size=2, max_size=20))
def test_rates_are_never_negative_and_add_up_to_the_counter(
    steps: list[tuple[float, float]],
) -> None:
    """Over any restarts: what is reported is what the counter rose, and nothing else."""
    rates, now, before, reported, rose = Rates(), 0.0, None, 0.0, 0.0
    for seconds, pause in steps:
        now += pause
        use = rates.use(Reading(cpu_seconds=seconds), now)
        assert use.cpu_cores is None or use.cpu_cores >= 0
        reported += (use.cpu_cores or 0.0) * pause
        rose += max(0.0, seconds - before) if before is not None else 0.0
        before = seconds
    assert abs(reported - rose) <= 1e-3 * max(1.0, rose)


@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=2, max_size=20))
def test_throttling_is_a_ratio_whatever_the_counters_do(counts: list[tuple[int, int]]) -> None:
    rates = Rates()
    for now, both in enumerate(counts):
        ratio = rates.use(
            Reading(throttling={"pod": Throttling(*both)}), float(now)
        ).throttled_ratio
        assert ratio is None or 0 <= ratio <= 1


@given(st.floats(0, 1e12), st.floats(0, 1e12), st.floats(-10, 10))
def test_no_rate_without_time_or_after_a_restart(before: float, after: float, took: float) -> None:
    assert (cores(before, after, took) is None) == (took <= 0 or after < before)


@given(
    st.dictionaries(st.text("abcdefgh_", min_size=1, max_size=9), COUNTS, max_size=9),
    st.text("abcdefgh_", min_size=1, max_size=9),
)
def test_a_value_is_that_of_its_own_key(values: dict[str, int], key: str) -> None:
    data = "".join(f"{name} {number}\n" for name, number in values.items()).encode()
    assert value(data, key.encode()) == values.get(key)
