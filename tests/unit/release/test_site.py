"""The documentation of all versions: folders, the list of versions, the newest one first."""

import json
from pathlib import Path

import pytest

from release import site
from release.__main__ import main
from release.errors import ReleaseError


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "docs").mkdir(parents=True)
    (folder / "index.html").write_text("new")
    return folder


def listed(published: Path) -> list[tuple[str, bool]]:
    entries = json.loads((published / site.VERSIONS).read_text())
    return [(entry["version"], "latest" in entry["aliases"]) for entry in entries]


def test_the_newest_version_comes_first_and_by_number(built: Path, tmp_path: Path) -> None:
    published = tmp_path / "all"
    for version in ("0.9.0", "0.10.2", "0.2.1"):
        site.add(built, published, version)
    assert listed(published) == [("0.10", True), ("0.9", False), ("0.2", False)]
    assert 'url=0.10/"' in (published / "index.html").read_text()


def test_a_later_release_of_a_version_replaces_its_folder(built: Path, tmp_path: Path) -> None:
    published = tmp_path / "all"
    site.add(built, published, "1.0.0")
    (published / "1.0" / "gone.html").write_text("old")
    assert site.add(built, published, "1.0.1") == "1.0"
    assert not (published / "1.0" / "gone.html").exists()
    assert listed(published) == [("1.0", True)]


@pytest.mark.parametrize("version", ["1.0", "v1.0.0", "1.0.0rc1", "../1.0.0"])
def test_what_is_no_release_is_refused(built: Path, tmp_path: Path, version: str) -> None:
    with pytest.raises(ReleaseError, match="expected three numbers"):
        site.add(built, tmp_path / "all", version)


def test_without_a_built_site_nothing_is_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["site", "1.0.0", str(tmp_path / "none"), str(tmp_path / "all")]) == 1
    assert "run `make docs`" in capsys.readouterr().err
    assert not (tmp_path / "all").exists()
