"""The library stays what it promises: standard library only, Python 3.9, small files."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.trainer.agent import Agent
from tests.unit.trainer.processes import (
    COUNT,
    ROOT,
    end,
    finish,
    start,
    wait_for,
    wait_until_it_trains,
)

FOLDER = ROOT / "trainer" / "shuntyard_trainer"
FRAMEWORKS = {
    "accelerate.py": {"accelerate"},
    "deepspeed.py": {"deepspeed", "torch"},
    "huggingface.py": {"transformers"},
    "keras.py": {"keras"},
    "lightning.py": {"lightning", "pytorch_lightning"},
    "orbax.py": {"orbax"},
    "torch_dcp.py": {"torch"},
    "torch_files.py": {"torch"},
    "torch_folders.py": {"torch"},
    "torch_generators.py": {"torch"},
    "torch_incremental.py": {"torch"},
    "torch_loop.py": {"torch"},
    "torch_ranks.py": {"torch"},
    "torch_shards.py": {"torch"},
    "torchtitan.py": {"torch", "torchtitan"},
}
"""Modules that import a framework, and which one; nothing else may import these modules."""

MODULES = sorted(FOLDER.glob("*.py"))
PLAIN = [path for path in MODULES if path.name not in FRAMEWORKS]
MOST_LINES = 300
MOST_FUNCTION_LINES = 40
LOAD_ALL = """
import sys
before = set(sys.modules)
for name in sys.argv[1:]:
    __import__(name)
new = {name.split(".")[0] for name in set(sys.modules) - before}
print(*sorted(new - set(sys.stdlib_module_names)))
"""


STANDARD = getattr(sys, "stdlib_module_names", frozenset())
needs_names = pytest.mark.skipif(not STANDARD, reason="Python 3.9 cannot name its own modules")


def _named(path: Path) -> str:
    return path.name


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@needs_names
@pytest.mark.parametrize("path", MODULES, ids=_named)
def test_a_module_imports_the_standard_library_itself_and_its_framework(path: Path) -> None:
    known = {*STANDARD, "shuntyard_trainer", *FRAMEWORKS.get(path.name, ())}
    assert {name.split(".")[0] for name in _imported(path)} - known == set()


@pytest.mark.parametrize("path", PLAIN, ids=_named)
def test_a_plain_module_imports_no_module_of_a_framework(path: Path) -> None:
    modules = {f"shuntyard_trainer.{Path(name).stem}" for name in FRAMEWORKS}
    assert modules & {name.rpartition(".")[0] for name in _imported(path)} == set()
    assert modules & set(_imported(path)) == set()


@needs_names
def test_importing_everything_plain_loads_no_package_of_others() -> None:
    names = [f"shuntyard_trainer.{path.stem}".removesuffix(".__init__") for path in PLAIN]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "trainer")}
    command = [sys.executable, "-I", "-c", "import sys; sys.path.insert(0, sys.argv.pop(1))\n"]
    command[-1] += LOAD_ALL
    done = subprocess.run(
        [*command, str(ROOT / "trainer"), *names],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["shuntyard_trainer"]


@pytest.mark.parametrize("path", MODULES, ids=_named)
def test_a_module_is_valid_in_python_3_9(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 9))


@pytest.mark.parametrize("path", MODULES, ids=_named)
def test_annotations_are_not_evaluated(path: Path) -> None:
    """So that ``X | None`` may stand there on Python 3.9."""
    uses = any(isinstance(node, ast.BinOp) for node in ast.walk(ast.parse(path.read_text())))
    assert not uses or "from __future__ import annotations" in path.read_text()


@pytest.mark.parametrize("path", MODULES, ids=_named)
def test_a_module_and_its_functions_are_small(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= MOST_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            lines = (node.end_lineno or 0) - node.body[0].lineno
            assert lines <= MOST_FUNCTION_LINES, node.name


def test_the_distribution_needs_nothing() -> None:
    text = (ROOT / "trainer" / "pyproject.toml").read_text()
    assert "\ndependencies = []\n" in text
    assert '\nrequires-python = ">=3.9"\n' in text


def _python_3_9() -> str:
    """On the path, or one of pyenv's: its shims are on the path but need not work."""
    found = [shutil.which("python3.9"), *Path.home().glob(".pyenv/versions/3.9*/bin/python3.9")]
    for python in map(str, filter(None, found)):
        if subprocess.run([python, "-V"], capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip("there is no python3.9 here; the syntax is checked all the same")


def test_a_whole_run_works_on_python_3_9(tmp_path: Path) -> None:
    python, agent = _python_3_9(), Agent(tmp_path)
    process = start(COUNT, tmp_path, 1_000_000, python=python)
    wait_until_it_trains(tmp_path)
    agent.ask(deadline=4e9, hold_deadline=4e9)
    wait_for(lambda: agent.read("ack-r1.json"))
    assert end(process) == (143, "")
    (agent.folder / "request.json").unlink()
    saved = agent.read("saved.json")
    assert saved is not None
    assert finish(start(COUNT, tmp_path, saved["step"] + 5, python=python)) == (0, "")
    steps = [
        json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()
    ]
    assert steps == list(range(1, saved["step"] + 6))
