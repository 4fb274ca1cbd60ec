"""The page on installing: its paths, variables and manifests. tests/install runs its commands."""

import re

import yaml

from extender.settings import ExtenderSettings
from shared import labels, settings
from tests.docs import blocks, manifests, said
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


def test_only_what_is_the_readers_own_is_not_run() -> None:
    skipped = [b for b in BLOCKS if b.language in blocks.SHELLS and not b.is_run]
    assert [b.words for b in skipped] == ["yours", "yours"]
    given = {name for b in skipped for name in re.findall(r"^([A-Z_]+)=", b.text, re.MULTILINE)}
    run = "".join(b.text for b in BLOCKS if b.is_run)
    assert set(re.findall(r"\$\{?([A-Z_]+)", run)) == given | {"PWD", "PATH"}


def test_what_its_kustomization_names_is_in_deploy() -> None:
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
    assert (job.key, job.min_available, job.problem) == ("default/job/first", 2, "")


def test_the_settings_of_the_page_are_settings(tmp_path) -> None:
    (own,) = (text for text in _written() if "default_max_wait_seconds" in text)
    shipped = (ROOT / "deploy/base/settings/extender.yaml").read_text()
    (tmp_path / "extender.yaml").write_text(shipped + own)
    found = settings.load(ExtenderSettings, tmp_path / "extender.yaml", {})
    assert found.waiting.default_max_wait_seconds == 43200


def test_names_are_those_that_exist() -> None:
    assert said.check_commands(TEXT) >= 5
    assert said.odd_settings(TEXT) == []
    assert said.odd_keys(TEXT) == set()
    lease = yaml.safe_load((ROOT / "deploy/base/scheduler.yaml").read_text())["leaderElection"]
    assert f"--namespace {lease['resourceNamespace']} delete lease {lease['resourceName']} " in TEXT
    assert labels.SCHEDULER_NAME in TEXT
