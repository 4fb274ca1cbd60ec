"""What is served is what the sources in ``page/`` give; its types are those of the read API."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shared.page import serving
from tests.root import ROOT
from tests.unit.test_amounts import IN_WORDS

PAGE = ROOT / "page"
STATIC = Path(serving.__file__).parent / "static"


@pytest.fixture(scope="module")
def node() -> str:
    """The path of node, whose packages are installed."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed")
    if not (PAGE / "node_modules" / "esbuild").is_dir():
        pytest.skip("the page's packages are not installed: npm ci in page/")
    return found


def test_a_rebuild_gives_the_files_that_are_served(node: str, tmp_path: Path) -> None:
    subprocess.run([node, "build.mjs", str(tmp_path)], cwd=PAGE, check=True)
    built = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert {file.name: file.read_bytes() for file in STATIC.iterdir()} == built


def test_the_sources_have_no_type_errors(node: str) -> None:
    command = [node, "node_modules/typescript/bin/tsc"]
    done = subprocess.run(command, cwd=PAGE, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def test_amounts_read_as_everywhere_else(node: str) -> None:
    """Only thousands are grouped on the page."""
    cases = [(resource, units) for resource, units, _ in IN_WORDS.values()]
    bundle = [node, "node_modules/esbuild/bin/esbuild", "src/format.ts", "--format=esm"]
    code = subprocess.run(bundle, cwd=PAGE, capture_output=True, text=True, check=True).stdout
    code += f"console.log(JSON.stringify({json.dumps(cases)}.map((one) => amount(...one))));"
    run = [node, "--input-type=module", "--eval", code]
    shown = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert [text.replace(",", "") for text in json.loads(shown)] == [
        want for _, _, want in IN_WORDS.values()
    ]


def test_the_types_are_those_of_the_read_api() -> None:
    command = [sys.executable, "page/schema.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)


def test_the_page_has_no_inline_script_or_style_and_nothing_from_elsewhere() -> None:
    index = (STATIC / "index.html").read_text()
    for forbidden in ("style=", "<style", "onload", "onclick", "http:", "https:", "//"):
        assert forbidden not in index
    assert index.count("<script") == index.count('<script src="page.js"') == 1


def test_the_page_is_small_enough_to_be_in_every_image() -> None:
    assert sum(file.stat().st_size for file in STATIC.iterdir()) < 200_000
