"""Hooks of mkdocs.yml: the pages of the repository become a site.

A page keeps its place, so a link between two pages is the same in the repository and in the site.
The pages are written for GitHub's Markdown; where Python-Markdown reads them otherwise, they are
changed on the way.

Source:
    https://www.mkdocs.org/dev-guide/plugins/#events
"""  # noqa: INP001 - loaded by mkdocs by its file

import posixpath
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx import slugs

ROOT: Final = Path(__file__).parents[1]
INDEX: Final = "docs/README.md"
HOME: Final = "README.md"
_TARGET: Final = re.compile(r"(?<=\]\()(?!https?:|mailto:)([^)\s#]+)(?=[)#])")
_PATH: Final = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_FENCE: Final = re.compile(r"^( *)(```+|~~~+) *([\w-]*)(.*)$")
_PAGES: Final = re.compile(
    r"(?:docs/.*|(?:deploy|deploy/chart|bench|examples|trainer)/README|[A-Z]+)\.md"
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the four paths from the index, and GitHub's names of headings."""
    config.nav = [{"Shuntyard": HOME}, *_paths((ROOT / INDEX).read_text(encoding="utf-8"))]
    config.mdx_configs["toc"]["slugify"] = slugs.slugify(case="lower")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Take what git knows in place of what is in docs/: all pages, and all that they lead to."""
    theme = [file for file in files if not (file.abs_src_path or "").startswith(config.docs_dir)]
    tracked = _tracked()
    pages = {path for path in tracked if _PAGES.fullmatch(path)}
    targets = {path for page in pages for path in _targets(page) if path in tracked}
    wanted = pages | targets | {config.theme["favicon"]}
    made = [File.generated(config, path, abs_src_path=str(ROOT / path)) for path in sorted(wanted)]
    return Files([*theme, *made])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page as Python-Markdown wants it."""
    del config
    text = "\n".join(_lines(markdown))
    return _TARGET.sub(lambda link: _readable(link[1], page, files), text)


def _paths(index: str) -> Iterator[Mapping[str, Any]]:
    """Yield the paths of the index: what each path's section links to, in its order."""
    for name, text in _PATH.findall(index):
        paths = (_at(INDEX, target) for target in _TARGET.findall(text))
        yield {name: list(dict.fromkeys(path for path in paths if path.endswith(".md")))}


def _tracked() -> frozenset[str]:
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return frozenset(path for path in done.stdout.split("\0") if (ROOT / path).is_file())


def _targets(page: str) -> Iterator[str]:
    for target in _TARGET.findall((ROOT / page).read_text(encoding="utf-8")):
        yield _at(page, target)


def _at(page: str, target: str) -> str:
    """Return the path that a link of a page leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def _lines(markdown: str) -> Iterator[str]:
    """Yield the lines with four blanks for each level of a list, and with plain fences."""
    fence, more = "", ""
    for line in markdown.splitlines():
        found = _FENCE.match(line)
        if fence:
            yield more + line if line else line
            if found and found[2].startswith(fence) and not found[3]:
                fence = ""
        elif found:
            more, fence = found[1], found[2]
            yield f"{more}{found[1]}{found[2]}{found[3]}"  # words after the language are for tests
        else:
            blanks = line[: len(line) - len(line.lstrip(" "))]
            yield blanks + line


def _readable(target: str, page: Page, files: Files) -> str:
    """Return a link's target; that of a folder leads to its page, or to the index of the site."""
    path = _at(page.file.src_uri, target)
    if files.get_file_from_path(path) or not (ROOT / path).is_dir():
        return target
    inside = (f"{path}/README.md", f"{path}/kustomization.yaml")
    found = next((one for one in inside if files.get_file_from_path(one)), INDEX)
    return posixpath.relpath(found, posixpath.dirname(page.file.src_uri) or ".")
