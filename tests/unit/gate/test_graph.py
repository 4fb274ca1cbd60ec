"""Uses between files that are no import, in a made-up repository."""

import grimp
import pytest

from tests.gate import graph
from tests.gate.graph import Fixtures

CONFTEST = """
@pytest.fixture
def cluster(control_plane): ...
@pytest.fixture
def yard(cluster): ...
"""
TEXTS = {
    "extender/__main__.py": "import extender.main",
    "extender/main.py": "",
    "devcluster/cluster.py": "def start_shuntyard(self): ...",
    "devcluster/replicas.py": "argv = (sys.executable, '-m', 'extender')",
    "devcluster/pytest_plugin.py": "@pytest.fixture\ndef control_plane(): ...",
    "docs/generate.py": "from extender import main",
    "tests/yard.py": "def start(cluster): cluster.start_shuntyard()",
    "tests/unit/test_pages.py": "PAGES = 'generate.py'",
    "tests/live/conftest.py": CONFTEST,
    "tests/live/test_queue.py": "def test_order(yard): ...",
    "tests/live/test_own.py": "@pytest.fixture\ndef cluster(): ...\ndef test_it(cluster): ...",
    "tests/live/test_etcd.py": "def test_it(control_plane): ...",
}
IMPORTS = {
    "extender.__main__": ["extender.main"],
    "tests.live.conftest": ["tests.yard"],
    "devcluster.pytest_plugin": ["devcluster.cluster"],
    "devcluster.cluster": ["devcluster.replicas"],
}


@pytest.fixture(scope="module")
def made_up():
    imports = grimp.ImportGraph()
    for path in TEXTS:
        if path != "docs/generate.py":
            imports.add_module(graph.module_name(path))
    for importer, imported in IMPORTS.items():
        for module in imported:
            imports.add_import(importer=importer, imported=module)
    return graph.joined(TEXTS, imports)


def test_a_program_is_used_by_the_tests_that_start_it_and_not_by_the_cluster(made_up):
    reached = made_up.reached(["extender/main.py"])
    assert {"tests/yard.py", "tests/live/conftest.py", "tests/live/test_queue.py"} <= reached
    assert not {"devcluster/cluster.py", "tests/live/test_etcd.py"} & reached


def test_a_conftest_is_used_by_the_tests_that_can_get_a_fixture_of_it(made_up):
    reached = made_up.reached(["tests/live/conftest.py"])
    assert reached == {"tests/live/conftest.py", "tests/live/test_queue.py"}


def test_the_fixtures_of_the_devcluster_are_used_wherever_they_are_named(made_up):
    assert "tests/live/test_etcd.py" in made_up.reached(["devcluster/replicas.py"])


def test_a_script_uses_its_imports_and_is_used_by_modules_that_name_it(made_up):
    assert "tests/unit/test_pages.py" in made_up.reached(["extender/main.py"])


MODULES = {
    "agent/http/app.py": "agent.http.app",
    "agent/http/__init__.py": "agent.http",
    "trainer/shuntyard_trainer/keras.py": "shuntyard_trainer.keras",
}


@pytest.mark.parametrize("path", MODULES)
def test_a_path_has_its_module_s_name(path):
    assert graph.module_name(path) == MODULES[path]


STARTED = {
    "a program": ("tests/a.py", 'run(sys.executable, "-m", "bench", "gang")', {"bench"}),
    "only a docstring names it": (
        "tests/a.py",
        '"""The "-m", "bench" of start_shuntyard."""',
        set(),
    ),
    "a text for people": ("bench/a.py", 'text = ["python", "-m", "bench"]', set()),
    "a method of the cluster": ("bench/a.py", "cluster.start_agents()", {"agent"}),
    "the devcluster's own": (
        "devcluster/a.py",
        'run("-m", "devcluster.kubelet")',
        {"devcluster.kubelet"},
    ),
}


@pytest.mark.parametrize(("path", "text", "programs"), STARTED.values(), ids=STARTED)
def test_started_programs_are_found_in_code(path, text, programs):
    assert graph.started(path, text) == programs


AUTOMATIC = {
    "with what the conftest imports of ours": (
        "from tests.fakes import kube",
        "kube.quiet()",
        True,
    ),
    "with another package": ("from blockbuster import kube", "kube.quiet()", False),
    "alone": ("from tests.fakes import kube", "pass", False),
}


@pytest.mark.parametrize(("imports", "body", "uses"), AUTOMATIC.values(), ids=AUTOMATIC)
def test_an_automatic_fixture_acts_on_every_test(imports, body, uses):
    text = f"{imports}\n@pytest.fixture(autouse=True)\ndef quiet(): {body}"
    offered = Fixtures.read(text, frozenset({"tests"}))
    assert Fixtures.read("def test_it(): ...").uses(offered) is uses


def test_a_fixture_named_in_a_string_is_used():
    offered = Fixtures.read("@pytest.fixture\ndef in_utc(): ...")
    assert Fixtures.read("mark = pytest.mark.usefixtures('in_utc')").uses(offered)
