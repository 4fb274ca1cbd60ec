"""Fields of all sections: described, bounded, with a unit, and taken by one parameter or used."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from extender.core.parameters.combined import CoreParameters
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import PolicySettings, core_parameters
from shared import settings
from shared.parameters import declarations

ROOT = Path(__file__).parents[2]
UNITS = (
    "_seconds",
    "_days",
    "_bytes",
    "_milli",
    "_ratio",
    "_port",
    "_value",
    "_priority",
    "_weight",
    "_gbps",
)
NUMBERS_WITHOUT_UNIT = {
    ("scheduler", "most_connections"),
    ("api", "most_connections"),
    ("agents", "most_connections"),
    ("gang", "spares"),
    ("training_faults", "least_gaps"),
    ("training_faults", "bad_values"),
    ("training_faults", "most_restarts"),
    ("gang", "bind_parallelism"),
    ("priority", "high"),
    ("priority", "normal"),
    ("priority", "low"),
    ("priority", "expansion"),
    ("service", "slack"),
    ("service", "loss"),
    ("service", "held"),
    ("service", "lead"),
    ("service", "ageing"),
    ("service", "critical"),
    ("waiting", "passing_tries"),
    ("pricing", "kappa"),
    ("scoring", "affinity"),
    ("scoring", "locality"),
    ("scoring", "packing"),
    ("scoring", "price"),
    ("scoring", "preference"),
    ("scoring", "sparing"),
    ("topology", "most_tries"),
    ("migration", "min_fast_peers"),
    ("migration", "count_difference"),
    ("migration", "count_most_moves"),
    ("migration", "most_moves_per_job"),
    ("migration", "most_open"),
    ("migration", "most_open_per_node"),
    ("cpu_weights", "exponent"),
    ("scaling", "least_pauses"),
    ("scaling", "near_cost"),
    ("scaling", "least_counts"),
    ("scaling", "most_rescales_per_hour"),
    ("scaling", "most_open"),
    ("preemption", "most_per_hour"),
    ("preemption", "most_victims"),
    ("preemption", "exact_candidates"),
    ("admission", "most_units"),
    ("checkpoint_notes", "most_writes"),
    ("admission", "profile_steps"),
    ("admission", "profile_spread"),
    ("admission", "horizon"),
    ("admission", "share"),
    ("admission", "most_idle_share"),
    ("price_bounds", "floor"),
    ("price_bounds", "kappa"),
    ("price_bounds", "low_quantile"),
    ("price_bounds", "high_quantile"),
    ("decision_log", "segments"),
}
FIELDS = dict(settings.fields(ExtenderSettings))


@pytest.mark.parametrize("path", FIELDS, ids=".".join)
def test_every_field_has_a_description_bounds_and_a_unit(path: tuple[str, ...]) -> None:
    info = FIELDS[path]
    assert info.description
    assert not info.is_required()
    if info.annotation in {int, float, int | None, float | None}:
        names = {type(rule).__name__ for rule in info.metadata}
        assert {"Ge", "Le"} <= names
        assert path[-1].endswith(UNITS) or path in NUMBERS_WITHOUT_UNIT


OTHER: dict[tuple[str, ...], object] = {
    ("queue", "order"): "creation",
    ("queue", "job_size"): "published",
    ("priority", "weights"): "paper-section-3",
    ("priority", "high"): 200,
    ("priority", "normal"): 60,
    ("priority", "low"): 2,
    ("buckets", "topology_key"): "zone",
    ("topology", "levels"): "row=example.com/row",
    ("migration", "policy"): "none",
    ("migration", "watching_weight"): 1.25,
    ("migration", "converged_weight"): 0.5,
    ("migration", "rebalance"): "never",
    ("scaling", "near_cost"): 0.25,
    ("admission", "share"): 0.25,
    ("admission", "server_label"): "example.com/ps",
    ("admission", "when_gone"): "queue",
    ("admission", "unmeasured"): "hold",
    ("admission", "profile_spread"): 0.25,
    ("admission", "replanning"): "admitted-first",
    ("admission", "colocation_gbps"): 50.0,
    ("admission", "granularity"): "chunks",
    ("admission", "most_idle_share"): 0.1,
    ("price_bounds", "rule"): "kappa",
    ("drain", "taints"): "example.com/retire, example.com/repair",
    ("drain", "conditions"): "DiskFails",
    ("drain", "labels"): "example.com/retire=now",
    ("lost_nodes", "fences"): "example.com/off",
    ("lost_nodes", "restart_after_seconds"): 600,
    ("gang", "show_unplaceable_seconds"): 60.0,
    ("tenancy", "tolerance_ratio"): 0.25,
    ("service", "loss"): 0.1,
    ("gating", "when"): "always",
    ("waiting", "keeps_room"): "overdue",
    ("price_bounds", "floor"): 0.1,
    ("price_bounds", "low_quantile"): 0.5,
    ("price_bounds", "high_quantile"): 0.9,
}


def another(path: tuple[str, ...]) -> Any:
    """Return a value that is not the default."""
    default = FIELDS[path].get_default()
    if isinstance(default, bool):
        return not default
    return OTHER.get(path) or default + 1


TAKEN = [
    (name, key)
    for name, info in PolicySettings.model_fields.items()
    for part in type(info.get_default()).parts
    for key in part.declared
]


def declared(value: Any) -> int:
    """Return how many fields of parameters, and of those inside them, can be set."""
    inner = (getattr(value, field.name) for field in dataclasses.fields(value))
    count = len(declarations(type(value)))
    return count + sum(declared(one) for one in inner if dataclasses.is_dataclass(one))


def test_every_declared_parameter_is_taken_by_one_section() -> None:
    assert len(TAKEN) == len(set(TAKEN)) == declared(CoreParameters())


@pytest.mark.parametrize("path", TAKEN, ids=".".join)
def test_every_taken_field_changes_the_parameters(path: tuple[str, ...]) -> None:
    found = PolicySettings.model_validate({path[0]: {path[1]: another(path)}})
    changed = dataclasses.asdict(core_parameters(found, "shuntyard"))
    assert changed != dataclasses.asdict(CoreParameters())


@pytest.mark.parametrize("path", sorted(FIELDS.keys() - {*TAKEN}), ids=".".join)
def test_no_other_field_is_without_effect(path: tuple[str, ...]) -> None:
    files = [*(ROOT / "extender" / "app").glob("*.py"), ROOT / "extender/settings/waiting_jobs.py"]
    text = "".join(file.read_text() for file in files)
    assert re.search(rf"\.{path[-1]}\b", text)


def test_the_reference_pages_are_current() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
