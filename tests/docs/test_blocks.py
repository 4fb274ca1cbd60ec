"""What is fenced on a page: found, marked as agreed, and shell where it says that it is shell."""

import subprocess
from pathlib import Path

import pytest

from tests.docs import blocks
from tests.docs.pages import pages, short

PAGE = """
```sh
echo "one $WHO"
```

- in a list:

  ```yaml save: some file.yaml
  a: 1
  ```

```sh no-run: it never ends
false
```

```console
$ false
```

```bash
cat "some file.yaml"
```
"""

WITH_SHELL = [p for p in pages() if any(b.language in blocks.SHELLS for b in blocks.of_page(p))]


def test_blocks_have_their_language_mark_text_and_line():
    found = list(blocks.blocks(PAGE))
    assert [(b.language, b.mark, b.words) for b in found] == [
        ("sh", "", ""),
        ("yaml", "save", "some file.yaml"),
        ("sh", "no-run", "it never ends"),
        ("console", "", ""),
        ("bash", "", ""),
    ]
    assert found[1].text == "a: 1\n"
    assert [b.line for b in found] == [2, 8, 12, 16, 20]


def test_the_script_of_a_page_writes_its_files_and_runs_its_commands_in_order(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    done = subprocess.run(
        ["bash", "-c", blocks.script(page)],
        cwd=tmp_path,
        env={"WHO": "reader", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "one reader\na: 1\n")
    assert done.stderr.splitlines() == ["+ page.md:2", "+ page.md:20"]


def test_the_script_ends_at_the_first_command_that_fails(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\nfalse | true\n```\n\n```sh\necho on\n```\n")
    done = subprocess.run(
        ["bash", "-c", blocks.script(page)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize("page", pages(), ids=short)
def test_marks_are_the_agreed_ones_with_their_arguments(page: Path):
    odd = [b for b in blocks.of_page(page) if b.mark not in {"", "no-run", "save"}]
    assert odd == []
    assert [b.line for b in blocks.of_page(page) if b.mark and not b.words] == []


@pytest.mark.parametrize("page", WITH_SHELL, ids=short)
def test_shell_blocks_can_be_read_by_the_shell(page: Path):
    texts = [b.text for b in blocks.of_page(page) if b.language in blocks.SHELLS]
    done = subprocess.run(
        ["bash", "-n"], input="\n".join(texts), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
