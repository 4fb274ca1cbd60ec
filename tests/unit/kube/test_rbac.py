"""The extender's role has a rule for each kind that it reads where it is installed."""

from pathlib import Path

import pytest
import yaml

from shared.kube import paths
from shared.kube.resources import OPTIONAL

RBAC = Path(__file__).parents[3] / "deploy" / "base" / "rbac.yaml"
RULES = [
    rule
    for manifest in yaml.safe_load_all(RBAC.read_text())
    if manifest["kind"] == "ClusterRole" and manifest["metadata"]["name"] == "shuntyard-extender"
    for rule in manifest["rules"]
]
READ = ["get", "list", "watch"]
ONLY_READ = frozenset({"rayservices", "leaderworkersets", "podgroups", "replicasets"})
"""Of these no number may change while they run, or another object's does for them."""


@pytest.mark.parametrize("kind", OPTIONAL, ids=lambda kind: kind.resource)
def test_a_kind_has_one_rule_of_its_own_that_lets_it_be_read(kind) -> None:
    plural = kind.path.rpartition("/")[2]
    group = paths.group_version(kind.path).partition("/")[0]
    found = [r for r in RULES if r["apiGroups"] == [group] and plural in r["resources"]]
    verbs = READ if plural in ONLY_READ else [*READ, "patch"]
    assert found == [{"apiGroups": [group], "resources": [plural], "verbs": verbs}]


@pytest.mark.parametrize("resource", ["batch/jobs", "apps/statefulsets"])
def test_the_owners_that_are_always_read_may_be_changed(resource: str) -> None:
    group, plural = resource.split("/")
    found = [r["verbs"] for r in RULES if r["apiGroups"] == [group] and plural in r["resources"]]
    assert found == [[*READ, "patch"]]
