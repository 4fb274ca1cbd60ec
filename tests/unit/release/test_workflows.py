"""The workflows run our scripts; here they run with programs that only note their calls."""

import os
import subprocess
import sys
import tarfile

import pytest
import yaml

from release import distributions, images, standalone, versions
from release.__main__ import STEPS, main
from release.locks import ROOT
from tests.deploy.helm import built
from tests.deploy.rendering import needs_kubectl

DIGEST = "sha256:" + "ab" * 32
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yaml"))
RELEASE = ROOT / versions.WORKFLOW
TAG = f"v{versions.stated()}"
RUN = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "team/shuntyard",
    "GITHUB_REF": f"refs/tags/{TAG}",
    "GITHUB_SHA": "c0" * 20,
    "GITHUB_EVENT_NAME": "push",
    "GITHUB_RUN_ID": "7",
    "GITHUB_RUN_ATTEMPT": "2",
}


def noting(directory, program, answer=""):
    """Put a program into the directory that notes its calls; return the file of the notes."""
    calls = directory / f"{program}.calls"
    calls.touch()
    file = directory / program
    file.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n{answer}\n')
    file.chmod(0o755)
    return calls


def script(name, *arguments, programs, **environ):
    environ |= {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHON": sys.executable}
    return subprocess.run(
        [str(ROOT / "release" / name), *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **RUN, "REGISTRY": "registry.example/team", **environ},
        cwd=ROOT,
    )


@needs_kubectl
def test_images_are_built_on_a_digest_and_named_by_digest(tmp_path):
    answer = f'case "$*" in *imagetools*) echo {DIGEST};; esac'
    calls = noting(tmp_path, "docker", answer)
    out = tmp_path / "dist"
    done = script("publish.sh", TAG, out, programs=tmp_path, HELM=str(built("helm")))
    assert done.returncode == 0, done.stderr
    made = [line for line in calls.read_text().splitlines() if line.startswith("buildx build")]
    assert len(made) == 2
    version = versions.stated()
    for line, program in zip(made, ("extender", "agent"), strict=True):
        assert f"--build-arg BASE=python:3.11-slim@{DIGEST}" in line
        assert "--platform linux/amd64,linux/arm64 --sbom=true --provenance=mode=max" in line
        assert f"--tag registry.example/team/shuntyard-{program}:{version} --push" in line
    assert images.lint(out, (out / "base-image.txt").read_text().strip()) == ()
    assert (out / "images.txt").read_text().splitlines() == [
        f"registry.example/team/shuntyard-{program}:{version}@{DIGEST}"
        for program in ("extender", "agent")
    ]
    with tarfile.open(out / f"shuntyard-{version}.tgz") as chart:
        values = yaml.safe_load(chart.extractfile("shuntyard/values.yaml").read())
    for program in ("extender", "agent"):
        image = values[program]["image"]
        assert image["repository"] == f"registry.example/team/shuntyard-{program}"
        assert image["digest"] == DIGEST


def test_a_tag_of_another_version_builds_nothing(tmp_path):
    calls = noting(tmp_path, "docker")
    done = script("publish.sh", "v99.0.0", tmp_path / "dist", programs=tmp_path)
    assert done.returncode == 1
    assert f"tag v99.0.0: expected {TAG}, the version of pyproject.toml" in done.stderr
    assert calls.read_text() == ""


def test_checksums_and_images_are_signed_with_what_they_were_built_from(tmp_path):
    calls = noting(tmp_path, "cosign")
    out = tmp_path / "dist"
    out.mkdir()
    image = f"registry.example/team/shuntyard-agent@{DIGEST}"
    (out / "images.txt").write_text(f"{image}\n")
    done = script("sign.sh", out, programs=tmp_path)
    assert done.returncode == 0, done.stderr
    predicate = f"--yes --type slsaprovenance1 --predicate {out}/provenance.json"
    sums = f"{out}/SHA256SUMS"
    assert calls.read_text().splitlines() == [
        f"sign-blob --yes --bundle {sums}.sigstore.json {sums}",
        f"attest-blob {predicate} --bundle {sums}.provenance.sigstore.json {sums}",
        f"sign --yes {image}",
        f"attest {predicate} {image}",
    ]
    assert distributions.check(out) == ()
    assert "provenance.json" in (out / "SHA256SUMS").read_text()


def test_the_provenance_names_commit_and_run():
    predicate = versions.provenance(RUN)
    build, run = predicate["buildDefinition"], predicate["runDetails"]
    (source,) = build["resolvedDependencies"]
    assert source["digest"] == {"gitCommit": RUN["GITHUB_SHA"]}
    assert source["uri"] == f"git+https://github.com/team/shuntyard@refs/tags/{TAG}"
    assert run["builder"]["id"].endswith(f"/{versions.WORKFLOW}@refs/tags/{TAG}")
    assert run["metadata"]["invocationId"].endswith("/actions/runs/7/attempts/2")
    assert RELEASE.is_file()


def test_outside_a_workflow_there_is_no_provenance(monkeypatch, capsys):
    for name in RUN:
        monkeypatch.delenv(name, raising=False)
    assert main(["provenance"]) == 1
    assert "GITHUB_SERVER_URL is not set: expected to run in a workflow" in capsys.readouterr().err


def steps(workflow):
    content = yaml.safe_load(workflow.read_text())
    return [step for job in content["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_runs_no_action_of_others_and_only_steps_that_are_there(workflow):
    found = steps(workflow)
    assert not [step for step in found if "uses" in step]
    words = " ".join(step["run"] for step in found).split()
    ours = {words[place + 1] for place, word in enumerate(words) if word == "release"}
    assert ours - {"create", "upload", "download"} <= STEPS.keys()
    for script_of_ours in (word for word in words if word.startswith("release/")):
        assert os.access(ROOT / script_of_ours, os.X_OK), script_of_ours


def test_each_job_has_the_rights_that_it_names_and_only_signing_has_an_identity():
    content = yaml.safe_load(RELEASE.read_text())
    assert content["permissions"] == {}
    rights = {name: job["permissions"] for name, job in content["jobs"].items()}
    assert [name for name, right in rights.items() if "id-token" in right] == ["sign"]


def test_there_is_a_runner_for_each_platform_of_the_standalone_command():
    content = yaml.safe_load(RELEASE.read_text())
    runners = content["jobs"]["standalone"]["strategy"]["matrix"]["runner"]
    assert len(runners) == len(standalone.PLATFORMS)


def lint_workflow(file):
    command = [built("actionlint"), "-shellcheck=", "-pyflakes=", "-no-color", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_actionlint_accepts_the_workflow(workflow):
    assert lint_workflow(workflow).stdout == ""


def test_actionlint_finds_a_wrong_name(tmp_path):
    broken = tmp_path / "release.yaml"
    broken.write_text(RELEASE.read_text().replace("vars.IMAGE_REGISTRY }}", "wars.REGISTRY }}"))
    assert 'undefined variable "wars"' in lint_workflow(broken).stdout
