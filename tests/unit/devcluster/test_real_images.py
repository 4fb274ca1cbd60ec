"""Images without a registry: containerd can read the archives that we write."""

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from devcluster.errors import MachineError
from devcluster.real_nodes import debian, images, oci_archive
from tests.unit.devcluster.programs import write_script


def layer(file: Path, name: str, content: bytes = b"") -> Path:
    (file.parent / name).write_bytes(content)
    with tarfile.open(file, "w") as tar:
        tar.add(file.parent / name, name)
    return file


class Archive:
    """An image archive, read as the specification says."""

    def __init__(self, file: Path) -> None:
        with tarfile.open(file) as tar:
            members = [(info, tar.extractfile(info)) for info in tar.getmembers()]
            self.files = {info.name: stream.read() for info, stream in members if stream}

    def blob(self, descriptor: dict[str, Any]) -> bytes:
        digest = descriptor["digest"].removeprefix("sha256:")
        content = self.files[f"blobs/sha256/{digest}"]
        assert hashlib.sha256(content).hexdigest() == digest
        assert len(content) == descriptor["size"]
        return content


def test_an_archive_is_an_image_with_parts_named_by_their_digests(tmp_path: Path) -> None:
    layers = [layer(tmp_path / "a.tar", "a", b"1"), layer(tmp_path / "b.tar", "b", b"2")]
    file = oci_archive.write(
        tmp_path / "image.tar",
        "localhost/x:1",
        layers,
        command=["python3"],
        environ={"PYTHONPATH": "/code"},
    )
    archive = Archive(file)
    assert json.loads(archive.files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = json.loads(archive.files["index.json"])["manifests"]
    assert entry["annotations"] == {"io.containerd.image.name": "localhost/x:1"}
    manifest = json.loads(archive.blob(entry))
    assert [archive.blob(one) for one in manifest["layers"]] == [f.read_bytes() for f in layers]
    config = json.loads(archive.blob(manifest["config"]))
    assert config["rootfs"]["diff_ids"] == [one["digest"] for one in manifest["layers"]]
    assert config["config"]["Cmd"] == ["python3"]
    assert config["config"]["Env"][1] == "PYTHONPATH=/code"


def test_no_image_is_named_after_a_registry() -> None:
    names = (images.PAUSE, images.BUSYBOX, images.SHUNTYARD)
    assert {name.partition("/")[0] for name in names} == {"localhost"}
    config = (Path(images.__file__).parent / "containerd.toml").read_text()
    assert f'sandbox_image = "{images.PAUSE}"' in config


def test_our_layer_has_this_checkouts_packages_and_the_agents_program(tmp_path: Path) -> None:
    file = images._code_layer(tmp_path / "code.layer")
    with tarfile.open(file) as tar:
        names = set(tar.getnames())
        assert all(info.uid == info.gid == 0 for info in tar.getmembers())
    assert "usr/local/bin/shuntyard-agent" in names
    assert any(name.startswith("opt/shuntyard/shuntyard-") for name in names)
    for package in ("agent", "shared", "shuntyard_trainer", "examples"):
        assert f"opt/shuntyard/{package}" in names
    assert "opt/shuntyard/shared/wire.py" in names
    assert not [name for name in names if "__pycache__" in name]


def test_only_packages_that_are_read_for_their_version_are_installed() -> None:
    stem, text = images.metadata('[project]\nname = "shuntyard-trainer"\nversion = "1.2"\n')
    assert stem == "shuntyard_trainer-1.2"
    assert "Name: shuntyard-trainer\nVersion: 1.2\n" in text


def test_wheels_are_installed_once_for_the_images_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def fake_run(*argv: str, seconds: float = 0.0) -> str:
        asked.append(argv)
        if argv[0] == "tar":
            Path(argv[argv.index("-cf") + 1]).touch()
        return ""

    monkeypatch.setattr(images, "run", fake_run)
    first = images.wheel_layer(tmp_path, "3.99", lambda _: None)
    assert images.wheel_layer(tmp_path, "3.99", lambda _: None) == first
    pip, tar = asked
    assert pip[pip.index("--python-version") + 1] == "3.99"
    assert pip[pip.index("--target") + 1].endswith("/usr/local/lib/python3.99/dist-packages")
    assert tar[0] == "tar"
    assert images.wheel_layer(tmp_path, "3.98", lambda _: None) != first


def test_the_images_release_is_the_machines() -> None:
    assert debian.suite('NAME="Debian"\nVERSION_CODENAME=bookworm\n') == "bookworm"
    with pytest.raises(MachineError, match="has no VERSION_CODENAME"):
        debian.suite('NAME="Other"\n')


def test_the_mirror_is_the_one_of_the_apt_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "echo bookworm-updates file:/updates/; echo bookworm file:/packages/"
    write_script(tmp_path / "apt-get", lines)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert debian.mirror("bookworm") == "file:/packages/"
    with pytest.raises(MachineError, match="apt has no source for sid; it has"):
        debian.mirror("sid")
