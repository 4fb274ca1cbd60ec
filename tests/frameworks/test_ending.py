"""Ranks that have agreed leave no thread that could abort the interpreter while it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.frameworks.training import PROGRAMS, needs, skip_without_any
from tests.unit.trainer import processes

skip_without_any()
pytestmark = needs("torch")


@pytest.mark.parametrize("destroys", ["0", "1"], ids=["its groups stay", "its groups are ended"])
def test_no_thread_of_an_agreement_outlives_the_functions_of_the_exit(
    tmp_path: Path, destroys: str
) -> None:
    store = {"STORE": str(tmp_path / "store"), "DESTROYS": destroys}
    lives = [
        processes.start(PROGRAMS / "torch_agree.py", **store, RANK=str(rank)) for rank in range(2)
    ]
    results = [processes.finish(life, 120.0) for life in lives]
    assert [code for code, _ in results] == [143, 143], results
    before, after = (json.loads(line) for line in results[0][1].splitlines())
    assert any("gloo" in name for name in before)
    assert not [name for name in after if "gloo" in name]
