"""The page on installing: its paths, variables and manifests. tests/install runs its commands."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from extender.settings.extender import ExtenderSettings
from shared import labels, settings
from tests.docs import blocks, manifests, references
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/install.md"
TEXT = PAGE.read_text()
BLOCKS = blocks.of_page(PAGE)
HEREDOC = re.compile(r"<<END\n(.*?)^END$", re.MULTILINE | re.DOTALL)
YOURS = {
    "REGISTRY": "r.example:5000/ml",
    "TAG": "1",
    "SCHEDULER_IMAGE": "r.example/kube-scheduler:v1",
}


def _written() -> list[str]:
    """The files that the commands write, as the shell expands them here."""
    texts = [text for block in BLOCKS if block.is_run for text in HEREDOC.findall(block.text)]
    return [_expanded(text) for text in texts]


def _expanded(text: str) -> str:
    text = text.replace("${SCHEDULER_IMAGE%:*}", "r.example/kube-scheduler")
    text = text.replace("${SCHEDULER_IMAGE##*:}", "v1")
    for name, value in YOURS.items():
        text = text.replace(f"${name}", value)
    return text


def test_only_the_readers_own_parts_are_not_run() -> None:
    skipped = [b for b in BLOCKS if b.language in blocks.SHELLS and not b.is_run]
    assert [b.words for b in skipped] == ["yours", "in place of kubectl apply -k", "yours"]
    given = {name for b in skipped for name in re.findall(r"^([A-Z_]+)=", b.text, re.MULTILINE)}
    run = "".join(b.text for b in BLOCKS if b.is_run)
    assert set(re.findall(r"\$\{?([A-Z_]+)", run)) == given | {"PWD", "PATH"}


def test_every_name_in_the_kustomization_is_in_deploy() -> None:
    (kustomization,) = (
        found
        for text in _written()
        if (found := yaml.safe_load(text)).get("kind") == "Kustomization"
    )
    for path in [*kustomization["resources"], *kustomization["components"]]:
        assert (ROOT / "docs" / path / "kustomization.yaml").is_file(), path
    for path in re.findall(r"`(?:\.\./)?(deploy/[a-z/-]+)`", TEXT):
        assert (ROOT / path).exists(), path
    images = {image["name"]: image for image in kustomization["images"]}
    used = {
        container["image"]
        for file in (ROOT / "deploy/base").glob("*.yaml")
        for obj in manifests.objects(file.read_text())
        for pod in manifests.templates(obj)
        for container in pod["spec"]["containers"]
    }
    assert set(images) == used
    assert images["kube-scheduler"]["newTag"] == "v1"


def test_the_first_job_is_valid_and_a_gang_of_ours() -> None:
    objects = [obj for text in _written() for obj in manifests.objects(text)]
    for obj in objects:
        if obj["kind"] != "Kustomization":
            manifests.check_schema(obj)
    (job,) = manifests.jobs_of(objects)
    assert (job.key, job.min_available, job.problem) == ("default/job/first", 2, None)


def test_the_settings_of_the_page_exist(tmp_path) -> None:
    (own,) = (text for text in _written() if "default_max_wait_seconds" in text)
    shipped = (ROOT / "deploy/base/settings/extender.yaml").read_text()
    (tmp_path / "extender.yaml").write_text(shipped + own)
    found = settings.load(ExtenderSettings, tmp_path / "extender.yaml", {})
    assert found.waiting.default_max_wait_seconds == 43200


def test_names_on_the_page_exist() -> None:
    assert references.check_commands(TEXT) >= 5
    assert references.odd_settings(TEXT) == []
    assert references.odd_keys(TEXT) == set()
    assert labels.SCHEDULER_NAME in TEXT


STUB = """#!/bin/bash
printf '%s' "$(basename "$0")" >> "$CALLS"; printf ' %q' "$@" >> "$CALLS"; echo >> "$CALLS"
[ "$1 $2" = "apply -f" ] && cat > /dev/null
if [ "$1 $2" = "-m venv" ]; then
    mkdir -p "$3/bin" && cp "$0" "$3/bin/pip" && cp "$0" "$3/bin/shuntyard"
fi
exit 0
"""


@pytest.fixture
def followed(tmp_path: Path) -> Path:
    """A copy of the repository in which the page was followed, with programs that only note it."""
    for name in ("kubectl", "docker", "python3"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(STUB)
        (tmp_path / "bin" / name).chmod(0o755)
    shutil.copytree(ROOT / "deploy", tmp_path / "copy/deploy")
    variables = {**YOURS, "BUILDER": "docker", "NEW_TAG": "2", "CALLS": str(tmp_path / "calls")}
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", blocks.script(PAGE)],
        cwd=tmp_path / "copy",
        env={**variables, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return tmp_path


def test_the_page_can_be_followed_from_its_first_command_to_its_last(followed: Path) -> None:
    calls = (followed / "calls").read_text().splitlines()
    programs = [call.split(" ", 1)[0] for call in calls]
    assert programs[:4] == ["docker"] * 4
    assert [call for call in calls if call.startswith("kubectl apply -k")] == [
        "kubectl apply -k yard"
    ] * 3
    assert "shuntyard doctor" in calls
    removed, left = calls[-2:]
    assert removed.startswith("kubectl delete -k yard")
    assert left.startswith("kubectl get pods")


def test_the_kustomization_at_the_end_has_the_new_version(followed: Path) -> None:
    found = yaml.safe_load((followed / "copy/yard/kustomization.yaml").read_text())
    images = {one["name"]: (one["newName"], one["newTag"]) for one in found["images"]}
    assert images == {
        "shuntyard-extender": ("r.example:5000/ml/shuntyard-extender", "2"),
        "shuntyard-agent": ("r.example:5000/ml/shuntyard-agent", "2"),
        "kube-scheduler": ("r.example/kube-scheduler", "v1"),
    }
    (generated,) = found["configMapGenerator"]
    assert (generated["name"], generated["behavior"]) == ("shuntyard-extender", "replace")
    own = settings.load(ExtenderSettings, followed / "copy/yard" / generated["files"][0], {})
    assert own.certificates.managed
