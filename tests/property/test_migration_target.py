"""Laws of Algorithm 2: it agrees with an enumeration, and no container moves back and forth."""

import dataclasses
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from extender.core.migration import migration_target
from extender.core.migration.migration_target import Host
from extender.core.parameters.migration import TargetParameters
from shared.model import NodeName
from shared.progress import Category

SOURCE = NodeName("n0")
COUNTS = st.integers(0, 4)
USES = st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0])
FIELDS = {
    Category.PROGRESSING: "progressing",
    Category.WATCHING: "watching",
    Category.CONVERGED: "converged",
}


@st.composite
def clusters(draw):
    """Hosts, the first of which holds the container counted as the category."""
    category = draw(st.sampled_from(Category))
    hosts = [
        Host(NodeName(f"n{i}"), draw(COUNTS), draw(COUNTS), draw(COUNTS), draw(USES), fits)
        for i, fits in enumerate(draw(st.lists(st.booleans(), min_size=1, max_size=6)))
    ]
    return category, [_with(hosts[0], category, 1), *hosts[1:]]


def _with(host, category, more):
    field = FIELDS[category]
    return dataclasses.replace(host, **{field: getattr(host, field) + more})


def weighing(three, **others):
    progressing, watching, converged = three
    return TargetParameters(
        progressing_weight=progressing,
        watching_weight=watching,
        converged_weight=converged,
        **others,
    )


weights = st.tuples(*(st.integers(0, 12).map(lambda x: x / 4) for _ in range(3))).map(
    lambda three: sorted(three, reverse=True)
)
params = st.builds(lambda w, own: weighing(w, exclude_own=own), weights, st.booleans())


def enumerated(category, hosts, params):
    """The rule by sorting exact numbers: least score, its own host first, then use, then name."""

    def exact(host):
        score = sum(
            Fraction(params.weight(kind)) * getattr(host, field) for kind, field in FIELDS.items()
        )
        if params.exclude_own and host.name == SOURCE:
            score -= Fraction(params.weight(category))
        use = 2.0 if host.use_ratio is None else host.use_ratio
        return (score, host.name != SOURCE, use, host.name)

    best = min((h for h in hosts if h.fits or h.name == SOURCE), key=exact)
    return None if best.name == SOURCE else best.name


@given(clusters(), params)
def test_it_agrees_with_the_enumeration(cluster, params):
    category, hosts = cluster
    found = migration_target.choose(SOURCE, category, hosts, params)
    assert found == enumerated(category, hosts, params)


@given(clusters(), params)
def test_the_target_fits_and_is_another_host(cluster, params):
    category, hosts = cluster
    found = migration_target.choose(SOURCE, category, hosts, params)
    assert found is None or found in {h.name for h in hosts if h.fits and h.name != SOURCE}


@given(st.data(), clusters(), params)
def test_the_order_of_the_hosts_does_not_matter(data, cluster, params):
    category, hosts = cluster
    shuffled = data.draw(st.permutations(hosts))
    assert migration_target.choose(SOURCE, category, shuffled, params) == migration_target.choose(
        SOURCE, category, hosts, params
    )


@given(clusters(), weights, st.booleans(), st.integers(1, 30))
def test_only_the_ratios_of_the_weights_matter(cluster, three, own, factor):
    category, hosts = cluster
    once, scaled = (
        migration_target.choose(
            SOURCE, category, hosts, weighing((w * by for w in three), exclude_own=own)
        )
        for by in (1, factor)
    )
    assert once == scaled


@given(clusters(), weights)
def test_a_moved_container_stays_on_its_new_host(cluster, three):
    category, hosts = cluster
    params = weighing(three)
    target = migration_target.choose(SOURCE, category, hosts, params)
    if target is None:
        return
    moved = [
        _with(h, category, {SOURCE: -1, target: 1}.get(h.name, 0))
        for h in (dataclasses.replace(h, fits=h.fits or h.name == SOURCE) for h in hosts)
    ]
    again = migration_target.choose(target, category, moved, params)
    assert again is None


@given(clusters(), params)
def test_a_host_that_fits_nothing_changes_nothing(cluster, params):
    category, hosts = cluster
    closed = Host(NodeName("m"), fits=False, use_ratio=0.0)
    assert migration_target.choose(SOURCE, category, [*hosts, closed], params) == (
        migration_target.choose(SOURCE, category, hosts, params)
    )
