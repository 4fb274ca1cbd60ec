"""Which modules the runs of `make test` collect."""

from tests import gate


def test_a_mark_is_found_where_it_is_used_and_a_conftest_stands_for_its_folder():
    marked = gate.places("controlplane", ["-q"])
    assert {"tests/conformance", "tests/docs/test_demo.py"} <= set(marked)
    assert "tests/unit/test_gate.py" not in marked
    assert "tests/docs/test_demo.py" in gate.places("alone", [])


def test_tests_that_are_named_are_the_only_ones():
    assert gate.places("controlplane", ["-k", "x", "tests/docs/test_demo.py::test_y"]) == []
