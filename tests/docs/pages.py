"""The pages and examples that the documentation tests read."""

from pathlib import Path

from tests.root import ROOT


def pages() -> list[Path]:
    """Every Markdown page of the repository, in path order."""
    folders = ("bench", "deploy", "deploy/chart", "examples", "trainer")
    beside = (ROOT / folder / "README.md" for folder in folders)
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *beside])


def yaml_files() -> list[Path]:
    """Every YAML file that people apply or copy, in path order; no templates of Helm."""
    folders = ("examples", "deploy", "devcluster", "docs")
    found = [p for f in folders for kind in ("*.yaml", "*.yml") for p in (ROOT / f).rglob(kind)]
    return sorted(one for one in found if ROOT / "deploy/chart/templates" not in one.parents)


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))
