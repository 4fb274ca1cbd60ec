"""Import rules that a contract in pyproject.toml cannot say; the contracts themselves, too."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.architecture.sources import CORE, PRODUCT, ROOT, module_name, python_files, tree


def test_the_import_contracts_hold() -> None:
    """In a process of its own: import-linter sets logging up anew and silences what is there."""
    call = "import importlinter.cli as c, sys; sys.exit(c.lint_imports(no_cache=True))"
    command = [sys.executable, "-c", call]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_imports_have_no_cycle_so_every_module_can_be_imported_first() -> None:
    """Read, not run: to import six hundred modules one after the other takes a minute."""
    modules = {module_name(path): path for path in python_files(*PRODUCT)}
    graph = {name: set(_loaded_first(name, modules)) for name in modules}
    assert _cycle(graph) == []


def _cycle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def _loaded_first(name: str, modules: dict[str, Path]) -> Iterator[str]:
    """Yield what has to be loaded first, packages on the way included, but those it lies in.

    Those are loaded already, unless the module wants one of their names.
    """
    for node in _first_run(tree(modules[name]).body):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        else:
            below = [f"{node.module}.{alias.name}" for alias in node.names]
            wanted = [one if one in modules else str(node.module) for one in below]
            yield from (one for one in wanted if one in modules and one != name)
        for one in wanted:
            parts = one.split(".")
            on_the_way = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
            yield from (
                p for p in on_the_way if p in modules and not f"{name}.".startswith(f"{p}.")
            )


def _first_run(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that run when the module is loaded."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _first_run([*node.body, *getattr(node, "orelse", [])])


def test_no_import_hides_inside_type_checking() -> None:
    """An import the interpreter does not see is one the contracts' readers overlook."""
    hidden = [
        f"{path}:{node.lineno}"
        for path in python_files(*PRODUCT)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    assert hidden == []


def test_the_core_calls_no_global_dice() -> None:
    """The core may use numpy, not its global generator: a Generator comes as an argument."""
    used = [
        f"{path}:{node.lineno}"
        for path in python_files(*CORE)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and ast.unparse(node).startswith("np.random.")
        and node.attr != "Generator"
    ]
    assert used == []


def test_only_shared_kube_names_the_client_library() -> None:
    """Also not as a text given to ``import_module``, which the contracts cannot see."""
    named = [
        f"{path}:{node.lineno}"
        for path in python_files(*PRODUCT, "bench")
        if path.parts[:2] != ("shared", "kube")
        for node in ast.walk(tree(path))
        if any(name.split(".")[0] == "kubernetes" for name in _imported(node))
    ]
    assert named == []


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
        ("import_module", "__import__")
    ):
        return [str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant)]
    return []
