"""Import rules that a contract in pyproject.toml cannot say; the contracts themselves, too."""

import ast
import subprocess
import sys

from tests.architecture.sources import CORE, PRODUCT, ROOT, module_name, python_files, tree

ONE_BY_ONE = """
import importlib, sys
mine = sys.argv[1].split(",")
failed = []
for name in sys.argv[2:]:
    for loaded in [m for m in sys.modules if m.split(".")[0] in mine]:
        del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except Exception as error:
        failed.append(f"{name}: {type(error).__name__}: {error}")
print("\\n".join(failed))
"""


def test_the_import_contracts_hold() -> None:
    """In a process of its own: import-linter sets logging up anew and silences what is there."""
    call = "import importlinter.cli as c, sys; sys.exit(c.lint_imports(no_cache=True))"
    command = [sys.executable, "-c", call]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_module_can_be_imported_first() -> None:
    """Each import starts with none of our modules loaded, so a hidden cycle shows."""
    names = [module_name(p) for p in python_files(*PRODUCT) if p.name != "__main__.py"]
    command = [sys.executable, "-W", "error", "-c", ONE_BY_ONE, ",".join(PRODUCT), *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("", "")


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
