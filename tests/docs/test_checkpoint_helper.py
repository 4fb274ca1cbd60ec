"""The programs of the page are Python; those that need no framework are moved for real."""

import json
import os
import subprocess
import sys

import pytest

from agent.settings import AgentSettings
from tests.docs import manifests
from tests.docs.helper_programs import PAGE, PROGRAMS, STEPS, moves
from tests.docs.helper_programs import start as start_program
from tests.unit.trainer import processes
from tests.unit.trainer.agent import POD, Agent

WITHIN_SECONDS = 60.0


@pytest.fixture(autouse=True)
def _none_stays():
    yield
    processes.kill_all()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.endswith(".py")])
def test_a_program_can_be_compiled(name):
    compile(PROGRAMS[name].text, name, "exec")


@pytest.mark.parametrize("name", ["plain.py", "train.sh"])
def test_a_program_that_is_moved_does_every_step_once(tmp_path, name):
    moves(tmp_path, name, WITHIN_SECONDS)
    if name == "plain.py":
        lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
        assert [line["step"] for line in lines] == list(range(1, STEPS[name] + 1))
    else:
        assert (tmp_path / f"checkpoints/step-{STEPS[name]}").read_text() == f"{STEPS[name]}\n"


def test_the_shell_continues_after_a_cancel_and_prints_it(tmp_path):
    agent = Agent(tmp_path / "checkpoints")
    agent.ask_now("r1")
    life = start_program(tmp_path, "train.sh", POD)
    processes.wait_for(lambda: agent.read("ack-r1.json"), WITHIN_SECONDS)
    agent.cancel("r1")
    assert processes.finish(life, WITHIN_SECONDS) == (0, "")
    released = agent.read("released.json")
    assert released is not None
    assert (released["id"], released["why"]) == ("r1", "cancelled")


def test_without_settings_on_a_laptop_it_trains_to_its_end(tmp_path):
    (tmp_path / "plain.py").write_text(PROGRAMS["plain.py"].text)
    done = subprocess.run(
        [sys.executable, "plain.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": processes.LIBRARY, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_job_on_the_page_is_valid_and_may_be_moved():
    objects = manifests.objects_of(PAGE)
    for one in objects:
        manifests.check_schema(one)
    (job,) = manifests.jobs_of(objects)
    assert (job.key, job.problem, job.min_available) == ("team-a/job/mnist", None, 1)


def test_the_group_on_the_page_is_the_agents():
    (page,) = manifests.objects_of(PAGE)
    (pod,) = manifests.templates(page)
    (agent,) = (
        container
        for path in (PAGE.parents[1] / "deploy/base").glob("*.yaml")
        for one in manifests.objects(path.read_text())
        if one["kind"] == "DaemonSet"
        for container in one["spec"]["template"]["spec"]["containers"]
    )
    group = pod["spec"]["securityContext"]["runAsGroup"]
    assert AgentSettings().paths.checkpoint_gid in {None, group}
    assert agent["securityContext"]["runAsGroup"] == group
