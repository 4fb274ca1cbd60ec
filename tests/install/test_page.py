"""docs/install.md on two real nodes: its commands in its order, and nothing else typed."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.real_nodes.installation import REGISTRY, image
from tests.docs import blocks
from tests.install import remains
from tests.install.tags import FIRST, NEXT, SCHEDULER
from tests.root import ROOT

pytestmark = [pytest.mark.e2e]

PAGE = ROOT / "docs/install.md"
VOLUME = Path("/var/lib/shuntyard")
"""Where the overlay demo-pv has it: on real nodes that is this machine's."""
SCRIPT_SECONDS = 3000.0
BUILDER = '#!/bin/sh\necho "$@" >> "$BUILT"\n'
"""It builds nothing: what it would build was built from the same files, and the nodes have it."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of this checkout, with what is not committed yet."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (tmp_path / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / "checkout" / name)
    return tmp_path / "checkout"


@pytest.fixture
def _volume() -> Iterator[None]:
    if VOLUME.exists():
        pytest.skip(f"{VOLUME} is in use: the page's volume would be in it")
    yield
    shutil.rmtree(VOLUME, ignore_errors=True)


@pytest.mark.usefixtures("_volume")
def test_the_commands_of_the_page_install_and_uninstall(
    cluster: Cluster, checkout: Path, tmp_path: Path
) -> None:
    before = api.call(cluster.kubeconfig, remains.objects)
    builder, built = tmp_path / "builder", tmp_path / "built"
    builder.write_text(BUILDER)
    builder.chmod(0o755)
    yours = {
        "REGISTRY": REGISTRY,
        "TAG": FIRST,
        "NEW_TAG": NEXT,
        "BUILDER": str(builder),
        "BUILT": str(built),
        "SCHEDULER_IMAGE": image("kube-scheduler", SCHEDULER),
        "KUBECONFIG": str(cluster.kubeconfig),
    }
    begun = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", blocks.script(PAGE)],
        cwd=checkout,
        env={**os.environ, **yours},
        capture_output=True,
        text=True,
        check=False,
        timeout=SCRIPT_SECONDS,
    )
    print(done.stdout, done.stderr, f"{time.monotonic() - begun:.0f} s")  # noqa: T201 - the record
    assert done.returncode == 0, done.stderr
    assert built.read_text().splitlines() == [
        f"build -f Dockerfile.extender -t {image('shuntyard-extender', FIRST)} .",
        f"build -f Dockerfile.agent -t {image('shuntyard-agent', FIRST)} .",
        f"push {image('shuntyard-extender', FIRST)}",
        f"push {image('shuntyard-agent', FIRST)}",
    ]
    now = api.call(cluster.kubeconfig, remains.objects)
    assert sorted(now - before) == []
