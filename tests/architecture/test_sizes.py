"""Size is a number that a test holds, not good will."""

import pytest

from tests.architecture.sources import PRODUCT, ROOT, functions, length, python_files

MOST_LINES = 400
MOST_TEST_LINES = 600
MOST_FUNCTION_LINES = 40
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}

LIMITS = {
    "product": ((*PRODUCT, "examples", "bench"), MOST_LINES),
    "tests": (("tests",), MOST_TEST_LINES),
}


@pytest.mark.parametrize(("folders", "most"), LIMITS.values(), ids=LIMITS)
def test_no_file_is_too_long(folders: tuple[str, ...], most: int) -> None:
    sizes = {p: len((ROOT / p).read_text().splitlines()) for p in python_files(*folders)}
    assert {str(p): n for p, n in sizes.items() if n > most} == {}


def test_no_function_is_too_long() -> None:
    long = {
        f"{path}:{function.lineno} {function.name}": length(function)
        for path in python_files(*PRODUCT, "examples", "bench")
        for function in functions(path)
        if length(function) > MOST_FUNCTION_LINES
    }
    assert long == {}


def test_no_module_has_a_vague_name() -> None:
    paths = python_files(*PRODUCT, "tests", "examples", "bench")
    assert [str(p) for p in paths if VAGUE_NAMES & set(p.with_suffix("").parts)] == []
