"""Runs Helm on the chart; Helm is built from its Go module where there is a Go."""

import functools
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.errors import AssetsError
from devcluster.programs import assets
from tests.deploy.rendering import DEPLOY, Manifest

CHART = DEPLOY / "chart"
NAMESPACE = "shuntyard-system"
FROM_1_36 = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"


@functools.cache
def built(name: str) -> Path:
    """Return a program of a wrapper module; skip where it is neither cached nor can be built."""
    if shutil.which("go") is None and not assets.is_cached(name):
        pytest.skip(f"there is neither a built {name} nor a go in PATH that could build it")
    try:
        return assets.ensure(frozenset({name}), report=lambda _: None)[name]
    except AssetsError as error:
        pytest.skip(f"{name} cannot be built: {error}")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([built("helm"), *arguments], capture_output=True, text=True, check=False)


def render(
    values: Mapping[str, Any], directory: Path, options: Sequence[str] = (), chart: Path = CHART
) -> subprocess.CompletedProcess[str]:
    """Run ``helm template`` with the values, as in a namespace that is not ours."""
    file = directory / "values.yaml"
    file.write_text(yaml.safe_dump(dict(values)))
    return run("template", "shuntyard", str(chart), "--values", str(file), *options)


def rendered(
    values: Mapping[str, Any], directory: Path, options: Sequence[str] = ()
) -> tuple[Manifest, ...]:
    """Return the objects of the release, without its tests."""
    done = render(values, directory, ("--no-hooks", *options))
    assert done.returncode == 0, done.stderr
    return tuple(one for one in yaml.safe_load_all(done.stdout) if one)
