"""`-n` with a namespace that does not exist (defect B6)."""

import pytest

from cli.__main__ import main
from tests.unit.cli.conftest import ReadApi

COMMANDS: dict[str, tuple[str, ...]] = {
    "queue": ("queue",),
    "namespaces": ("queue", "--by", "namespace"),
    "jobs": ("jobs",),
    "migrations": ("migrations",),
    "rescales": ("rescales",),
    "parkings": ("parkings",),
    "explain": ("explain", "x"),
    "what-if": ("what-if", "--workers", "1", "--cpu", "1"),
}


@pytest.mark.parametrize(("path", "argv"), COMMANDS.items(), ids=COMMANDS.keys())
def test_a_namespace_that_does_not_exist_is_an_error(
    read_api: ReadApi, path: str, argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = b"namespace absent not found: `kubectl get namespaces` lists those that exist"
    read_api.answers[f"/v1/{path}"] = (404, refusal)
    assert main([*argv, "-n", "absent"]) == 1
    printed = capsys.readouterr()
    assert (printed.out, "namespace absent not found" in printed.err) == ("", True)
    assert "namespace=absent" in read_api.asked[0]
