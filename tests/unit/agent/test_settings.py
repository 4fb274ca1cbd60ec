"""The agent's settings: bounds, units, and what is refused in words."""

import dataclasses
import re
from pathlib import Path

import pytest

from agent.settings import AgentSettings, Preset
from shared import settings
from shared.convergence.parameters import PRESETS, ConvergenceParameters, Normalisation
from shared.errors import SettingsError

UNITS = ("_seconds", "_bytes", "_ratio", "port", "_gid")
NUMBERS_WITHOUT_UNIT = {
    ("report", "events"),
    ("following", "files"),
    ("following", "open_files"),
    ("following", "lines_per_poll"),
    ("following", "bytes_per_poll"),
    ("sampling", "cores"),
    ("api", "most_connections"),
    ("convergence", "alpha"),
    ("convergence", "epsilon"),
}
FIELDS = dict(settings.fields(AgentSettings))


def load(tmp_path: Path, text: str, **environ: str) -> AgentSettings:
    file = tmp_path / "agent.yaml"
    file.write_text(text)
    return settings.load(AgentSettings, file, environ)


@pytest.mark.parametrize("path", FIELDS, ids=".".join)
def test_a_number_has_a_unit_and_bounds(path: tuple[str, ...]) -> None:
    field = FIELDS[path]
    assert field.description
    if not any(kind in str(field.annotation) for kind in ("int", "float")):
        return
    assert path in NUMBERS_WITHOUT_UNIT or path[-1].endswith(UNITS)
    assert {"Ge", "Le"} <= {type(rule).__name__ for rule in field.metadata}


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    found = load(tmp_path, "agent: {node: a}", SHUNTYARD__AGENT__NODE="b")
    assert found.agent.node == "b"


def test_replicas_in_the_environment_are_separated_by_commas(tmp_path: Path) -> None:
    found = load(tmp_path, "", SHUNTYARD__EXTENDER__URLS="https://a:1, https://b:2/")
    assert found.extender.urls == ("https://a:1", "https://b:2")


WRONG = {
    "no TLS": (
        "extender: {urls: ['http://a:1']}",
        "expected https://HOST:PORT, found 'http://a:1'",
    ),
    "a path": ("extender: {urls: ['https://a:1/x']}", "expected https://HOST:PORT"),
    "no host": ("extender: {urls: ['https://']}", "expected https://HOST:PORT"),
    "back-offs in the wrong order": (
        "report: {backoff_seconds: 9, most_backoff_seconds: 8}",
        "most_backoff_seconds 8 must not be below backoff_seconds 9",
    ),
    "an unknown preset": ("convergence: {preset: best}", "convergence.preset"),
    "an unknown key": ("reports: {}", "there is no such field"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_errors_are_described(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        load(tmp_path, text)


def test_every_preset_of_the_rule_can_be_chosen() -> None:
    assert {preset.value for preset in Preset} == set(PRESETS)


@pytest.mark.parametrize("preset", PRESETS)
def test_single_values_win_over_the_preset(tmp_path: Path, preset: str) -> None:
    chosen = load(tmp_path, f"convergence: {{preset: {preset}}}").convergence
    found = chosen.applied_to(ConvergenceParameters())
    assert found == PRESETS[preset]
    values = "signed: true, alpha: 0.05, interval_seconds: 10, normalisation: absolute"
    chosen = load(tmp_path, f"convergence: {{preset: {preset}, {values}}}").convergence
    found = chosen.applied_to(ConvergenceParameters())
    assert found == dataclasses.replace(
        PRESETS[preset],
        signed=True,
        alpha=0.05,
        interval_seconds=10.0,
        normalisation=Normalisation.ABSOLUTE,
    )


def test_every_parameter_of_the_rule_is_a_setting() -> None:
    names = {field.name for field in dataclasses.fields(PRESETS["recommended"])}
    assert {path[-1] for path in FIELDS if path[0] == "convergence"} == names | {"preset"}


def test_a_dump_loads_to_the_same_settings(tmp_path: Path) -> None:
    text = "extender: {urls: ['https://a:1']}\nsampling: {cores: 0.5}\npaths: {volume: /v}"
    first = load(tmp_path, text)
    assert load(tmp_path, settings.dump(first)) == first
