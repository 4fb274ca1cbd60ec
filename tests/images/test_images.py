"""Both Dockerfiles, built by buildah: what is in the images, who runs, and that they start."""

import json
import shutil

import pytest

from devcluster.real_nodes import dockerfiles
from devcluster.real_nodes.dockerfiles import Builder

pytestmark = pytest.mark.e2e

PREFIX = "/opt/shuntyard"
LIBRARIES = f"{PREFIX}/lib/python3.11/site-packages"
FOREIGN = {
    "shuntyard-extender": ("agent", "cli", "devcluster", "simulator", "psutil"),
    "shuntyard-agent": ("extender", "cli", "devcluster", "simulator", "numpy", "kubernetes"),
}
"""What has no place in an image."""


@pytest.fixture(scope="module")
def builder() -> Builder:
    if reasons := dockerfiles.why_not():
        pytest.skip(f"no images can be built here: {'; '.join(reasons)}")
    return dockerfiles.builder(print)


@pytest.fixture(scope="module", params=dockerfiles.IMAGES)
def image(builder: Builder, request: pytest.FixtureRequest) -> tuple[str, str]:
    name: str = request.param
    return name, builder.kept(name)


def test_the_program_starts_as_an_unprivileged_user(
    builder: Builder, image: tuple[str, str]
) -> None:
    name, tag = image
    assert builder.run(tag, f"{PREFIX}/bin/{name}", "--help").startswith(f"usage: {name}")
    assert builder.run(tag, "id", "-u").strip() == "65532"
    assert builder.inspect(tag, "{{.OCIv1.Config.Entrypoint}}") == f"[{PREFIX}/bin/{name}]"
    assert builder.inspect(tag, "{{.OCIv1.Config.StopSignal}}") == "SIGTERM"
    assert (
        builder.inspect(tag, '{{index .OCIv1.Config.Labels "org.opencontainers.image.title"}}')
        == name
    )


def test_the_default_settings_are_accepted(builder: Builder, image: tuple[str, str]) -> None:
    name, tag = image
    assert ":\n" in builder.run(tag, f"{PREFIX}/bin/{name}", "--print-settings")


def test_nothing_is_in_it_that_is_not_needed(builder: Builder, image: tuple[str, str]) -> None:
    name, tag = image
    there = set(builder.run(tag, "ls", LIBRARIES).split())
    assert {name.rpartition("-")[2], "shared"} <= there
    assert there.isdisjoint(FOREIGN[name])
    assert "pip" not in there


def test_the_bill_of_materials_names_what_is_installed(
    builder: Builder, image: tuple[str, str]
) -> None:
    _, tag = image
    bill = json.loads(builder.run(tag, "cat", f"{PREFIX}/sbom.cdx.json"))
    named = {part["name"].lower().replace("_", "-") for part in bill["components"]}
    installed = {
        entry.partition("-")[0].lower().replace("_", "-")
        for entry in builder.run(tag, "ls", LIBRARIES).split()
        if entry.endswith(".dist-info")
    }
    assert installed - {"shuntyard"} <= named
    assert bill["bomFormat"] == "CycloneDX"


def test_the_same_sources_give_the_same_layers(builder: Builder, image: tuple[str, str]) -> None:
    name, tag = image
    layers = builder.inspect(tag, "{{.OCIv1.RootFS.DiffIDs}}")
    assert builder.inspect(builder.build(name), "{{.OCIv1.RootFS.DiffIDs}}") == layers


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _program: None)
    assert "buildah is missing (Debian package buildah)" in dockerfiles.why_not()
