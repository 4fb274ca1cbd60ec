"""The command starts quickly because it imports little."""

import subprocess
import sys

import pytest

HEAVY = {"aiohttp", "asyncio", "kubernetes", "numpy", "pydantic", "prometheus_client"}
HEAVY |= {"rich", "textual"}

WAYS: dict[str, tuple[str, set[str]]] = {
    "a wrong command line": ("cli.arguments", {"http", "msgspec", "ssl", "dataclasses"}),
    "by URL": ("cli.commands", {"yaml", "urllib.request"}),
    "through the API server": ("cli.by_service, shared.kube.auth", set()),
}


@pytest.mark.parametrize(("modules", "more"), WAYS.values(), ids=WAYS.keys())
def test_each_connection_imports_only_its_own_modules(modules: str, more: set[str]) -> None:
    program = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (HEAVY | more) & set(done.stdout.split()) == set()
