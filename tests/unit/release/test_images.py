"""A release names images by digest; the digest comes from the registry (defect A11)."""

import re

import pytest
import yaml

from release import images
from release.__main__ import main
from release.errors import ReleaseError
from release.locks import ROOT

DIGEST = "sha256:" + "ab" * 32
BY_DIGEST = {
    "shuntyard-extender": f"registry.example/team/shuntyard-extender:v1@{DIGEST}",
    "shuntyard-agent": f"registry.example:5000/shuntyard-agent@{DIGEST}",
}


def test_the_registry_is_asked_for_the_digest_of_a_tag():
    asked = []

    def ask(command):
        asked.append(tuple(command))
        return f"{DIGEST}\n"

    assert images.by_digest("python:3.11-slim", ask) == f"python:3.11-slim@{DIGEST}"
    assert asked[0][:4] == ("docker", "buildx", "imagetools", "inspect")
    assert images.by_digest(f"python@{DIGEST}", ask) == f"python@{DIGEST}"
    assert len(asked) == 1


def test_an_answer_that_is_no_digest_is_refused():
    with pytest.raises(ReleaseError, match="expected sha256:<64 hex digits>, got 'latest'"):
        images.by_digest("python:3.11-slim", lambda _command: "latest\n")


def test_the_manifests_name_both_images_by_digest():
    made = yaml.safe_load(images.kustomization(BY_DIGEST, "../deploy/base"))
    assert made["resources"] == ["../deploy/base"]
    assert [(one["newName"], one["digest"]) for one in made["images"]] == [
        ("registry.example/team/shuntyard-extender", DIGEST),
        ("registry.example:5000/shuntyard-agent", DIGEST),
    ]


def test_manifests_by_tag_are_not_made():
    tagged = {**BY_DIGEST, "shuntyard-agent": "registry.example/shuntyard-agent:v1"}
    with pytest.raises(ReleaseError, match=r"shuntyard-agent: expected name@sha256:…"):
        images.kustomization(tagged, "../deploy/base")


def test_the_lint_accepts_the_output_of_the_release(tmp_path):
    text = images.kustomization(BY_DIGEST, "../deploy/base")
    (tmp_path / "kustomization.yaml").write_text(text)
    assert images.lint(tmp_path, f"python:3.11-slim@{DIGEST}") == ()


def test_the_lint_refuses_tags(tmp_path, capsys):
    (tmp_path / "kustomization.yaml").write_text("kind: Kustomization\nresources: [base]\n")
    pod = {"kind": "Pod", "spec": {"containers": [{"image": "shuntyard-agent:v1"}]}}
    (tmp_path / "rendered.yaml").write_text(yaml.safe_dump(pod))
    assert main(["lint", "--base-image", "python:3.11-slim", str(tmp_path)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "base image 'python:3.11-slim' is named by tag",
        "kustomization.yaml: image shuntyard-extender has no digest",
        "kustomization.yaml: image shuntyard-agent has no digest",
        "rendered.yaml: image shuntyard-agent:v1 is named by tag",
    ]


def test_a_release_without_manifests_is_refused(tmp_path):
    assert images.lint(tmp_path, f"python@{DIGEST}") == (f"{tmp_path} has no manifests",)


def test_no_digest_is_invented_in_the_tree():
    for file in ("Dockerfile.extender", "Dockerfile.agent", "release/publish.sh"):
        assert not re.search(r"sha256:[0-9a-f]{8}", (ROOT / file).read_text())
