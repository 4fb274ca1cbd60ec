"""The pages and examples that the documentation tests read."""

from pathlib import Path

from tests.root import ROOT


def pages() -> list[Path]:
    """Every Markdown page of the repository, in path order."""
    beside = (ROOT / folder / "README.md" for folder in ("bench", "deploy", "examples", "trainer"))
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *beside])


def yaml_files() -> list[Path]:
    """Every YAML file that people apply or copy, in path order."""
    folders = ("examples", "deploy", "devcluster", "docs")
    found = [p for f in folders for kind in ("*.yaml", "*.yml") for p in (ROOT / f).rglob(kind)]
    return sorted(found)


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))
