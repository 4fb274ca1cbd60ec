"""Which Python files of the repository use which.

Imports come from grimp, as for the import contracts. Two kinds of use are no import: a program that
is started (`python -m bench`, or a method of `devcluster.cluster.Cluster`) and a fixture.
"""

import ast
import functools
import re
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grimp

from tests.gate import inputs
from tests.gate.inputs import Readers

PLUGIN: Final = "devcluster/pytest_plugin.py"
STARTS: Final[Mapping[str, str]] = {
    "start_shuntyard": "extender",
    "start_agents": "agent",
    "Schedulers.SHUNTYARD": "extender",
    "Schedulers.BOTH": "extender",
}
"""Words that start a program in a devcluster, in files that do not define them."""
STARTERS: Final = frozenset(
    {"devcluster/cluster.py", "devcluster/options.py", "devcluster/real_nodes/machines.py"}
)
"""They define those words: a cluster without the programs uses these files too."""
_MODULE_OPTION: Final = re.compile(r"(?<!'python', )'-m', '([a-z_.]+)'")
_FIXTURE_CALLS: Final = frozenset({"usefixtures", "getfixturevalue"})


@dataclass(frozen=True)
class Graph:
    """Python files by their paths, relative to the root.

    Attributes:
        texts: What each file says.
        users: The files that use a file.
        readers: The files that read files that are no Python.
    """

    texts: Mapping[str, str]
    users: Mapping[str, frozenset[str]]
    readers: Readers

    def reached(self, paths: Iterable[str]) -> frozenset[str]:
        """Return the paths and all files that use one of them, directly or through others."""
        reached = set(paths)
        queue = list(reached)
        while queue:
            new = self.users.get(queue.pop(), frozenset()) - reached
            reached |= new
            queue.extend(new)
        return frozenset(reached)


def files(root: Path) -> list[str]:
    """Return all files of the working tree that git does not ignore."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return sorted(name for name in set(listed.stdout.splitlines()) if (root / name).is_file())


def build(root: Path) -> Graph:
    """Read the working tree; its packages must be importable."""
    texts = {name: (root / name).read_text() for name in files(root) if name.endswith(".py")}
    project = tomllib.loads((root / "pyproject.toml").read_text())
    packages = (*project["tool"]["importlinter"]["root_packages"], "tests")
    return joined(texts, grimp.build_graph(*packages, cache_dir=None))


def joined(texts: Mapping[str, str], imports: grimp.ImportGraph) -> Graph:
    """Add to the imports what is no import."""
    paths = {module_name(path): path for path in texts}
    readers = Readers(texts)
    users: dict[str, set[str]] = defaultdict(set)
    for module in imports.modules & paths.keys():
        for imported in imports.find_modules_directly_imported_by(module) & paths.keys():
            users[paths[imported]].add(paths[module])
    for path, text in texts.items():
        named = started(path, text)
        if module_name(path) not in imports.modules:  # a script that others run by its path
            named |= _imported(text)
            users[path] |= readers.of(path) or set()
        for used in {f"{name}.__main__" for name in named} | named:
            if used in paths:
                users[paths[used]].add(path)
    for path, used in _fixture_files(texts):
        users[used].add(path)
    return Graph(texts, {path: frozenset(by) for path, by in users.items()}, readers)


def module_name(path: str) -> str:
    """Return the module's dotted name; a package's for its `__init__.py`."""
    name = path.removeprefix("trainer/").removesuffix(".py").removesuffix("/__init__")
    return name.replace("/", ".")


def started(path: str, text: str) -> set[str]:
    """Return the programs that the file starts as processes."""
    if '"-m"' not in text and not any(word in text for word in STARTS):
        return set()
    text = inputs.code(text)
    programs = modules_run(text)
    if path.startswith("devcluster/"):
        programs = {name for name in programs if name.split(".")[0] == "devcluster"}
    if path in STARTERS:
        return programs
    return programs | {program for word, program in STARTS.items() if word in text}


def _imported(text: str) -> set[str]:
    """Return what a script imports: it is in no package, so grimp does not know it."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def modules_run(code: str) -> set[str]:
    """Return the modules that the code runs by `-m`."""
    return set(_MODULE_OPTION.findall(code))


@dataclass(frozen=True)
class Fixtures:
    """The fixtures of a file.

    Attributes:
        defined: Names of its fixtures.
        used: Names that its functions ask for.
        on_all: A fixture or hook that acts on every test uses what the file imports of ours.
    """

    defined: frozenset[str]
    used: frozenset[str]
    on_all: bool

    @classmethod
    @functools.cache
    def read(cls, text: str, ours: frozenset[str] = frozenset()) -> "Fixtures":
        """Read a file's text; `ours` are the names of the packages of the repository."""
        defined, used, on_all = set(), set(), False
        tree = ast.parse(text)
        imported = _bound(tree, ours) if ours else set()
        calls = any(word in text for word in _FIXTURE_CALLS)
        for node in ast.walk(tree) if calls else _statements(tree.body):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                decorators = [ast.unparse(one) for one in node.decorator_list]
                if any("fixture" in one for one in decorators):
                    defined.add(node.name)
                automatic = any("autouse=True" in one for one in decorators)
                if automatic or node.name.startswith("pytest_"):
                    on_all |= bool(imported & _names(node))
                used |= {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
            elif isinstance(node, ast.Call) and _name(node.func) in _FIXTURE_CALLS:
                used |= {one.value for one in node.args if isinstance(one, ast.Constant)}
        return cls(frozenset(defined), frozenset(used), on_all)

    def uses(self, other: "Fixtures") -> bool:
        """Return True if a test of this file can get a fixture of the other one."""
        return other.on_all or bool((self.used - self.defined) & other.defined)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements with those inside them: a function is found without its expressions."""
    for one in body:
        yield one
        for inner in ("body", "orelse", "handlers", "finalbody", "cases"):
            yield from _statements(getattr(one, inner, ()))


def _bound(tree: ast.Module, ours: frozenset[str]) -> set[str]:
    """Return the names that a file has from packages of ours."""
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] in ours
    }


def _names(function: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}


def _name(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _fixture_files(texts: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Yield each file of the tests with each conftest, or plugin, whose fixtures it uses."""
    ours = frozenset(module_name(path).partition(".")[0] for path in texts)
    conftests = [path for path in texts if path.endswith("conftest.py")]
    offering = {path: Fixtures.read(texts[path], ours) for path in conftests}
    plugin = Fixtures.read(texts[PLUGIN]) if PLUGIN in texts else None
    for path, text in texts.items():
        if not path.startswith("tests/"):
            continue
        fixtures = Fixtures.read(text)
        for conftest, offered in offering.items():
            folder = conftest.removesuffix("conftest.py")
            if path != conftest and path.startswith(folder) and fixtures.uses(offered):
                yield path, conftest
        if plugin and fixtures.uses(plugin):
            yield path, PLUGIN
