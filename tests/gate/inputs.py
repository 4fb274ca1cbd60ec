"""Which Python files read which other files: known by the words that their code uses.

The words are looked for in names and strings, not in docstrings and comments. A file that no row
names is an input of everything. `tests/gate/records.py` notes what tests really read, and the gate
fails if this table does not say so.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

EVERYTHING: Final = "everything"
NOTHING: Final = "nothing"
NO_WORDS: Final = frozenset({EVERYTHING, NOTHING})
PYTHON: Final = "*.py"
INSTALLED: Final = ("agent/", "cli/", "extender/", "shared/", "trainer/")
"""Programs that are installed without the repository's other files."""
_NAMING: Final = ("tests/gate/inputs.py", "tests/gate/graph.py", "tests/conftest.py")
"""They name files of others, and read none of them."""
READERS: Final[Mapping[str, str]] = {
    "pyproject.toml": EVERYTHING,
    "requirements/dev.txt": EVERYTHING,
    "tests/conftest.py": EVERYTHING,
    "*/py.typed": r"\b_PACKAGES\b",
    "LICENSE": NOTHING,
    ".gitignore": NOTHING,
    ".dockerignore": NOTHING,
    ".ci/*": NOTHING,
    "tests/frameworks/results.json": r"\bgenerate\.py\b|\bRESULTS\b",
    "tests/frameworks/programs/*": r"\bgenerate\.py\b|\bRESULTS\b",
    "tests/frameworks/*": NOTHING,  # make test-frameworks
    "tests/frameworks/*.py": NOTHING,
    "tests/gpu/*.ini": NOTHING,  # where not all of requirements/dev.txt is
    "tests/gate/*.toml": r"\bbudgets\b|\bconcerns\b",
    "tests/golden/*": r"\bgolden\b",
    "tests/fixtures/*": r"\bfixtures\b",
    "tests/corpus/*": r"\bCORPUS\b",
    "tests/corpus/curves/*": r"\bcorpus\b",
    "tests/golden/*.py": r"\btests\.golden\b",
    "tests/*/programs/*.py": r"\bprograms\b",
    "docs/generate.py": r"\bgenerate\.py\b",
    "docs/site.py": r"\bmkdocs\b",
    "docs/cast.py": r"\bcast\.py\b",
    "mkdocs.yml": r"\bmkdocs\b",
    "examples/*.py": r"\bEXAMPLES\b|\bexamples\b",
    "deploy/*": r"\bDEPLOY\b|\bdeploy\b",
    "docs/*": r"['\"]docs['\"/]",
    "*.md": r"\.md\b",
    "examples/*": r"\bEXAMPLES\b|\bexamples\b",
    "requirements/*": r"\brequirements\b",
    "page/*": r"\bPAGE\b",
    "shared/page/static/*": r"\bshared\.page\b|\b_PACKAGES\b",
    "devcluster/modules/*": r"\bMODULES\b|\byaml_files\b",
    "devcluster/stages/*": r"\bSTAGES\b|\byaml_files\b",
    "devcluster/real_nodes/*": r"\bSCRIPTS\b|containerd\.toml",
    "bench/specon/trainer.py": r"\btrainer\.py\b",
    "trainer/pyproject.toml": r"\btrainer\b",
    "release/*": r"\bpublish\.sh\b",
    "Dockerfile.*": r"\bDockerfile\b",
    ".github/*": r"\.github\b",
    "Makefile": r"\bMakefile\b",
    PYTHON: r"(?<!def )\bpython_files\(|FOLDER\.glob\(|\bROOT / .extender\b",
}
"""Patterns of files, and what the code of their readers says; every row that fits counts."""


def rows(path: str) -> frozenset[str]:
    """Return the patterns that the path fits; Python files fit only patterns for such files."""
    fitting = (pattern for pattern in READERS if fnmatchcase(path, pattern))
    is_python = path.endswith(".py")
    return frozenset(one for one in fitting if not is_python or one.endswith(".py"))


@dataclass(frozen=True)
class Readers:
    """The Python files that read other files.

    Attributes:
        texts: Every Python file's text.
    """

    texts: Mapping[str, str]
    _saying: dict[str, frozenset[str]] = field(default_factory=dict)

    def of(self, path: str) -> frozenset[str] | None:
        """Return the Python files that read the file; None if every test may."""
        words = {READERS[pattern] for pattern in rows(path)}
        if not words or EVERYTHING in words:
            return None
        return frozenset().union(*(self._files(word) for word in words - {NOTHING}))

    def _files(self, word: str) -> frozenset[str]:
        if word not in self._saying:
            pattern = re.compile(word)
            self._saying[word] = frozenset(
                path
                for path, text in self.texts.items()
                if not path.startswith((*INSTALLED, *_NAMING))
                if pattern.search(text) and pattern.search(code(text))
            )
        return self._saying[word]


@cache
def code(text: str) -> str:
    """Return a Python file without its comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [one for one in body if not _is_text(one)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
