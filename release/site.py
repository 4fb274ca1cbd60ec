"""The documentation of all versions: each built site in a folder of its own.

``versions.json`` is what the theme reads for its list of versions; ``index.html`` leads to the
newest one.

Source:
    https://squidfunk.github.io/mkdocs-material/setup/setting-up-versioning/ (the form of the file).
"""

import json
import re
import shutil
from pathlib import Path
from typing import Final

from release.errors import ReleaseError

VERSIONS: Final = "versions.json"
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.\d+")
_LEAD: Final = """\
<!doctype html>
<html lang="en">
<title>Shuntyard</title>
<meta http-equiv="refresh" content="0; url={newest}/">
<p><a href="{newest}/">Shuntyard {newest}</a></p>
</html>
"""


def add(built: Path, published: Path, version: str) -> str:
    """Put a built site beside those of other versions; return the name of its folder.

    Releases with one major and minor number share a folder: the last one is shown.

    Args:
        built: What ``make docs`` has built.
        published: The folder of all versions; it is made if it is not there.
        version: Of the release.

    Raises:
        ReleaseError: The version is none of a release, or nothing was built.
    """
    found = _VERSION.fullmatch(version)
    if found is None:
        raise ReleaseError(f"version {version}: expected three numbers such as 1.2.3")
    if not (built / "index.html").is_file():
        raise ReleaseError(f"{built} has no index.html: run `make docs`")
    name = f"{found[1]}.{found[2]}"
    shutil.rmtree(published / name, ignore_errors=True)
    shutil.copytree(built, published / name)
    names = sorted(
        (one.name for one in published.iterdir() if _VERSION.fullmatch(f"{one.name}.0")),
        key=lambda one: [int(part) for part in one.split(".")],
        reverse=True,
    )
    entries = [
        {"version": one, "title": one, "aliases": ["latest"] if one == names[0] else []}
        for one in names
    ]
    (published / VERSIONS).write_text(json.dumps(entries, indent=2) + "\n")
    (published / "index.html").write_text(_LEAD.format(newest=names[0]))
    return name
