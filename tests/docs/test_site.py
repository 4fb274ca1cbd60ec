"""The site of `make docs`: every page is in it, every link holds, and nothing comes from elsewhere.

It is built by mkdocs as `make docs` builds it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from typing_extensions import override

from tests.docs.pages import ROOT, pages, short

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}
"""Elements that a browser loads without a click."""
PATHS = ["Users", "Administrators", "Researchers", "Contributors"]


@dataclass
class Html:
    """What is read of a page."""

    ids: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)
    text: list[str] = field(default_factory=list)
    depth: int = 0


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Html()
        self.code = 0
        self.lists: list[bool] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.page.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.page.links.add(given["href"])
        if LOADED.get(tag) in given and given.get("rel") != "canonical":
            self.page.loaded.add(given[LOADED[tag]])
        self.code += tag in {"pre", "code", "script", "style"}
        if tag in {"ul", "ol"}:
            self.lists.append("class" not in given)  # those of the navigation have one
            self.page.depth = max(self.page.depth, sum(self.lists))

    @override
    def handle_endtag(self, tag: str) -> None:
        self.code -= tag in {"pre", "code", "script", "style"}
        if tag in {"ul", "ol"}:
            self.lists.pop()

    @override
    def handle_data(self, data: str) -> None:
        if not self.code:
            self.page.text.append(data)


def read(file: Path) -> Html:
    reader = Reader()
    reader.feed(file.read_text())
    return reader.page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*command, "--site-dir", str(directory)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return directory


@pytest.fixture(scope="module")
def read_pages(site: Path) -> Mapping[Path, Html]:
    return {file: read(file) for file in site.rglob("*.html") if file.name != "404.html"}


def place(page: Path) -> str:
    """Return where mkdocs puts a page: README.md is the index of its folder."""
    path = page.relative_to(ROOT)
    folder = path.parent if path.name == "README.md" else path.with_suffix("")
    return str(folder / "index.html")


def test_every_page_is_in_the_site_and_can_be_found(site: Path) -> None:
    missing = [short(page) for page in pages() if not (site / place(page)).is_file()]
    assert missing == []
    index = json.loads((site / "search/search_index.json").read_text())
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    wanted = {place(page).removesuffix("index.html").removeprefix("./") for page in pages()}
    assert wanted - found == set()


def test_the_four_paths_are_the_tabs_of_each_page(site: Path) -> None:
    for page in ("index.html", "docs/submit/index.html"):
        text = (site / page).read_text()
        tabs = text[text.index('class="md-tabs"') :].partition("</nav>")[0]
        assert [path for path in PATHS if path in tabs] == PATHS


def broken(site: Path, read_pages: Mapping[Path, Html]) -> Iterator[str]:
    """Yield the links inside the site that lead nowhere."""
    for file, page in read_pages.items():
        for link in page.links | page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            known = read_pages[target].ids if target in read_pages else set()
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in known):
                yield f"{file.relative_to(site)}: {link}"


def test_every_link_of_the_site_has_a_target(site: Path, read_pages: Mapping[Path, Html]) -> None:
    assert sum(len(page.links) for page in read_pages.values()) > 1000
    assert sorted(broken(site, read_pages)) == []


def test_a_link_without_a_target_is_found(tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    file.write_text('<h1 id="a">A</h1><a href="#a">1</a><a href="#b">2</a><a href="c/">3</a>')
    assert sorted(broken(tmp_path, {file: read(file)})) == ["index.html: #b", "index.html: c/"]


def test_nothing_is_loaded_from_other_servers(read_pages: Mapping[Path, Html]) -> None:
    foreign = {one for page in read_pages.values() for one in page.loaded if "//" in one}
    assert foreign == set()


def test_markdown_of_github_is_read_as_github_reads_it(
    site: Path, read_pages: Mapping[Path, Html]
) -> None:
    """Fences have words after the language; lists are nested by two blanks."""
    marks = {
        short: mark
        for short, page in ((str(f.relative_to(site)), p) for f, p in read_pages.items())
        for mark in ("```", "**", "](", "no-run:")
        if mark in " ".join(page.text)
    }
    assert marks == {}
    assert read_pages[site / "docs/adr/0014-second-house/index.html"].depth == 2
