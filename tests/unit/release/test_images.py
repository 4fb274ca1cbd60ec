"""A release names images by digest; the digest comes from the registry (defect A11)."""

import os
import re
import subprocess
import sys

import pytest
import yaml

from release import images
from release.__main__ import main
from release.errors import ReleaseError
from release.locks import ROOT
from tests.deploy.helm import built

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


def test_the_workflow_s_script_builds_on_the_digest_and_writes_digests(tmp_path):
    """release/publish.sh with a docker that only notes its calls."""
    calls = tmp_path / "calls"
    docker = tmp_path / "docker"
    docker.write_text(
        f'#!/bin/sh\necho "$@" >> {calls}\ncase "$*" in *imagetools*) echo {DIGEST};; esac\n'
    )
    docker.chmod(0o755)
    environ = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "REGISTRY": "registry.example/team",
        "GITHUB_REPOSITORY": "team/shuntyard",
    }
    out = tmp_path / "dist"
    script = ROOT / "release/publish.sh"
    subprocess.run([str(script), "v1.0.0", str(out)], check=True, env=environ, cwd=ROOT)
    built = [line for line in calls.read_text().splitlines() if line.startswith("buildx build")]
    assert len(built) == 2
    assert all(f"--build-arg BASE=python:3.11-slim@{DIGEST}" in line for line in built)
    assert images.lint(out, (out / "base-image.txt").read_text().strip()) == ()


def test_the_workflow_runs_no_action_and_our_script():
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yaml").read_text())
    steps = workflow["jobs"]["images"]["steps"]
    assert not [step for step in steps if "uses" in step]
    assert any(step["run"].startswith("release/publish.sh ") for step in steps)


def lint_workflow(file):
    command = [built("actionlint"), "-shellcheck=", "-pyflakes=", "-no-color", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_actionlint_accepts_the_workflow_and_finds_a_wrong_name(tmp_path):
    workflow = ROOT / ".github/workflows/release.yaml"
    assert lint_workflow(workflow).stdout == ""
    broken = tmp_path / "release.yaml"
    broken.write_text(workflow.read_text().replace("vars.IMAGE_REGISTRY }}", "wars.REGISTRY }}"))
    assert 'undefined variable "wars"' in lint_workflow(broken).stdout


def test_no_digest_is_invented_in_the_tree():
    for file in ("Dockerfile.extender", "Dockerfile.agent", "release/publish.sh"):
        assert not re.search(r"sha256:[0-9a-f]{8}", (ROOT / file).read_text())
