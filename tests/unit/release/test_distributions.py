"""What users download is complete, the same for the same sources, and has checksums."""

import hashlib
import json
import os
import re
import subprocess
import tarfile
import zipfile

import pytest
import yaml

from release import distributions, images, standalone, versions
from release.__main__ import main
from release.errors import ReleaseError
from release.locks import ROOT

VERSION = versions.stated()
REPOSITORY = "https://github.com/team/shuntyard"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    directory = tmp_path_factory.mktemp("dist")
    return {file.name: file for file in distributions.build(directory)}


def test_both_distributions_have_a_wheel_and_sources(built):
    wheels = [name for name in built if name.endswith(".whl")]
    sources = [name for name in built if name.endswith(".tar.gz")]
    assert [name.partition("-")[0] for name in sorted(wheels)] == ["shuntyard", "shuntyard_trainer"]
    assert [name.partition("-")[0] for name in sorted(sources)] == [
        "shuntyard",
        "shuntyard_trainer",
    ]
    assert len(built) == 4


def test_a_wheel_has_the_files_that_the_programs_read_and_no_tests(built):
    names = set(zipfile.ZipFile(built[f"shuntyard-{VERSION}-py3-none-any.whl"]).namelist())
    folders = ("shared/page/static", "devcluster/stages", "devcluster/real_nodes")
    tracked = images.ask(("git", "-C", str(ROOT), "ls-files", *folders)).splitlines()
    assert tracked
    assert set(tracked) - names == set()
    assert {name.split("/")[0] for name in names} & {"tests", "bench", "docs"} == set()
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_the_same_sources_give_the_same_wheel(built, tmp_path):
    again = distributions.build(tmp_path / "again", ["trainer"])
    (wheel,) = (file for file in again if file.suffix == ".whl")
    assert wheel.read_bytes() == built[wheel.name].read_bytes()


def test_a_bill_of_materials_lists_the_locked_packages(tmp_path):
    (file,) = distributions.bills(tmp_path, ["cli"])
    assert file.name == f"shuntyard-cli-{VERSION}.cdx.json"
    found = {one["name"]: one for one in json.loads(file.read_text())["components"]}
    lock = (ROOT / "requirements/cli.txt").read_text()
    assert found.keys() == set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))
    assert found["msgspec"]["purl"].startswith("pkg:pypi/msgspec@")
    assert str(ROOT) not in file.read_text()


def test_checksums_are_those_of_sha256sum(tmp_path, capsys):
    (tmp_path / "a.whl").write_bytes(b"a")
    (tmp_path / "b.tgz").write_bytes(b"b")
    (tmp_path / "SHA256SUMS.sigstore.json").write_text("made of the checksums")
    assert main(["checksums", str(tmp_path)]) == 0
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, check=True)
    assert main(["checksums", "--check", str(tmp_path)]) == 0
    (tmp_path / "a.whl").write_bytes(b"another")
    (tmp_path / "b.tgz").rename(tmp_path / "c.tgz")
    capsys.readouterr()
    assert main(["checksums", "--check", str(tmp_path)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "b.tgz is missing",
        "c.tgz is in no line of SHA256SUMS",
        "a.whl has another SHA-256 than SHA256SUMS says",
    ]


def test_a_folder_without_files_or_without_checksums_is_an_error(tmp_path):
    with pytest.raises(ReleaseError, match="has no files of a release"):
        distributions.sums(tmp_path)
    with pytest.raises(ReleaseError, match="has no SHA256SUMS"):
        distributions.check(tmp_path)


NOTES = (
    "# Changelog\n\n## Unreleased\n\n- x\n\n## 1.2.0, 2026-11-24\n\n- a\n\n## 1.1.0\n\n## 1.0.0\n"
)


def test_the_notes_of_a_version_are_its_part_of_the_changelog():
    assert versions.notes("1.2.0", NOTES) == "- a\n"
    for missing in ("1.1.0", "1.0.0", "2", "1.2"):
        with pytest.raises(ReleaseError, match=rf"has nothing about {missing}: expected a section"):
            versions.notes(missing, NOTES)


@pytest.mark.parametrize("tag", [VERSION, "v99.0.0", "latest"])
def test_a_tag_is_v_and_the_version(tag):
    assert versions.of_tag(f"v{VERSION}") == VERSION
    with pytest.raises(ReleaseError, match=f"tag {tag}: expected v{VERSION}"):
        versions.of_tag(tag)


def archives(directory):
    for system, processor in standalone.PLATFORMS:
        file = directory / standalone.name(VERSION, system, processor)
        file.write_text(f"{system} {processor}")


def test_the_krew_manifest_has_an_archive_and_its_checksum_for_each_platform(tmp_path, capsys):
    archives(tmp_path)
    assert main(["krew", f"v{VERSION}", "--repository", REPOSITORY, str(tmp_path)]) == 0
    manifest = yaml.safe_load(capsys.readouterr().out)
    assert manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert (manifest["kind"], manifest["metadata"]) == ("Plugin", {"name": "shuntyard"})
    spec = manifest["spec"]
    assert re.fullmatch(r"v\d+\.\d+\.\d+(-[\w.]+)?", spec["version"])
    assert len(spec["shortDescription"]) <= 50, "longer ones are cut in `kubectl krew search`"
    for stated, (system, processor) in zip(spec["platforms"], standalone.PLATFORMS, strict=True):
        name = standalone.name(VERSION, system, processor)
        assert stated == {
            "selector": {"matchLabels": {"os": system, "arch": processor}},
            "uri": f"{REPOSITORY}/releases/download/v{VERSION}/{name}",
            "sha256": hashlib.sha256((tmp_path / name).read_bytes()).hexdigest(),
            "bin": "kubectl-shuntyard",
        }


def test_a_krew_manifest_without_an_archive_is_not_made(tmp_path, capsys):
    archives(tmp_path)
    (tmp_path / standalone.name(VERSION, "darwin", "arm64")).unlink()
    assert main(["krew", f"v{VERSION}", "--repository", REPOSITORY, str(tmp_path)]) == 1
    assert "is missing: krew installs it on darwin arm64" in capsys.readouterr().err


@pytest.mark.e2e  # a virtual environment and PyInstaller: a minute
def test_the_standalone_command_runs_through_a_link_without_our_python(built, tmp_path):
    archive = standalone.build(built[f"shuntyard-{VERSION}-py3-none-any.whl"], tmp_path / "dist")
    store, link = tmp_path / "store", tmp_path / "bin/kubectl-shuntyard"
    with tarfile.open(archive) as tar:
        tar.extractall(store, filter="data")
    assert (store / "LICENSE").is_file()
    link.parent.mkdir()
    link.symlink_to(store / "kubectl-shuntyard")  # as krew does
    environ = {"PATH": os.defpath, "HOME": str(tmp_path)}

    def run(*arguments):
        command = [str(link), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environ, timeout=60
        )

    assert run("--version").stdout.startswith(f"shuntyard {VERSION}")
    assert "usage: kubectl shuntyard jobs" in run("jobs", "--help").stdout
    for command in ("jobs", "doctor"):  # kubeconfigs are read with PyYAML
        assert "no credentials" in run(command).stderr
    manifest = tmp_path / "job.yaml"
    manifest.write_text((ROOT / "examples/single-a.yaml").read_text())
    assert (
        "shuntyard.io/queue" in run("submit", "-f", str(manifest), "--dry-run", "-o", "yaml").stdout
    )
