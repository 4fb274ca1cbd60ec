"""The extender's role has a rule for each kind that it reads where it is installed."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.kube import paths
from shared.kube.resources import OPTIONAL

BASE = Path(__file__).parents[3] / "deploy" / "base"


def rules(file: str) -> list[dict[str, Any]]:
    return [
        rule
        for manifest in yaml.safe_load_all((BASE / file).read_text())
        if manifest["kind"] == "ClusterRole"
        for rule in manifest["rules"]
    ]


ALWAYS, KINDS = rules("rbac.yaml"), rules("rbac-kinds.yaml")
READ = ["list", "watch"]
ONLY_READ = frozenset({"podgroups"})
"""Kinds that own no pods, so we write nothing on them."""


@pytest.mark.parametrize("kind", OPTIONAL, ids=lambda kind: kind.resource)
def test_a_kind_has_one_rule_of_its_own_that_lets_it_be_read(kind) -> None:
    plural = kind.path.rpartition("/")[2]
    group = paths.group_version(kind.path).partition("/")[0]
    found = [r for r in KINDS if r["apiGroups"] == [group] and plural in r["resources"]]
    verbs = READ if plural in ONLY_READ else [*READ, "patch"]
    assert found == [{"apiGroups": [group], "resources": [plural], "verbs": verbs}]


@pytest.mark.parametrize("resource", ["batch/jobs", "apps/statefulsets"])
def test_the_owners_that_are_always_read_may_be_changed(resource: str) -> None:
    group, plural = resource.split("/")
    found = [r["verbs"] for r in ALWAYS if r["apiGroups"] == [group] and plural in r["resources"]]
    assert [set(verbs) - {"get"} for verbs in found] == [{*READ, "patch"}]
