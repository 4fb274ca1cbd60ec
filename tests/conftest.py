"""Set-up of every test: Hypothesis profiles, golden files, and what a run left out."""

import importlib.util
import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = (
    ["devcluster.pytest_plugin"] if importlib.util.find_spec("devcluster.pytest_plugin") else []
)

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True, max_examples=50)
settings.register_profile("dev", deadline=None, print_blob=True, max_examples=50)
settings.register_profile(
    "nightly",
    deadline=None,
    print_blob=True,
    max_examples=2000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_LEFT_OUT: pytest.StashKey[Counter[str]] = pytest.StashKey()
_MADE_BY = {"e2e": "make test-e2e", "alone": "make test", "controlplane": "make test"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite tests/golden/**/*.output.json from what the code says now",
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden outputs are rewritten instead of compared."""
    return bool(request.config.getoption("--update-golden"))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_LEFT_OUT] = Counter()


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        marks = [name for name in _MADE_BY if item.get_closest_marker(name)]
        item.config.stash[_LEFT_OUT][marks[0] if marks else "by -m, -k or --deselect"] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out; skips and their reasons are listed by ``-ra`` above it."""
    for why, count in sorted(terminalreporter.config.stash[_LEFT_OUT].items()):
        made_by = f", run by `{_MADE_BY[why]}`" if why in _MADE_BY else ""
        terminalreporter.write_line(f"left out: {count} test(s): {why}{made_by}")
