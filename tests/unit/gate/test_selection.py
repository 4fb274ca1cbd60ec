"""Which tests a change runs: in a made-up repository, and facts about this one."""

from fnmatch import fnmatchcase

import grimp
import pytest

from devcluster.cluster import Cluster
from devcluster.options import Schedulers
from tests.gate import graph, inputs, selection
from tests.gate.selection import select
from tests.root import ROOT

TEXTS = {
    "agent/tailing.py": "",
    "agent/gone.py": "",
    "agent/main.py": "from agent import tailing",
    "devcluster/cluster.py": "",
    "devcluster/kubelet.py": "",
    "tests/unit/agent/test_main.py": "from agent.main import main",
    "tests/unit/agent/test_gone.py": "from agent import (\n    gone,\n)",
    "tests/unit/policy/test_gang.py": 'CASES = Path("tests/golden/gang")',
    "tests/live/test_agent.py": "from agent import main; import devcluster.kubelet",
    "tests/live/test_kubelet.py": (
        "pytestmark = pytest.mark.devcluster; import agent.main, devcluster.kubelet"
    ),
    "tests/frameworks/test_keras.py": "from agent import main",
}
IMPORTS = {
    "agent.main": ["agent.tailing"],
    "tests.unit.agent.test_main": ["agent.main"],
    "tests.unit.agent.test_gone": ["agent.gone"],
    "tests.live.test_agent": ["agent.main", "devcluster.kubelet"],
    "tests.live.test_kubelet": ["agent.main", "devcluster.kubelet"],
}


def made_up(texts):
    imports = grimp.ImportGraph()
    for path in texts:
        imports.add_module(graph.module_name(path))
    for importer, imported in IMPORTS.items():
        for module in imported:
            imports.add_import(importer=importer, imported=module)
    return graph.joined(texts, imports)


CASES = {
    "users of users run": (["agent/tailing.py"], ["live/test_agent", "unit/agent/test_main"]),
    "a test runs when it changes": (["tests/unit/agent/test_main.py"], ["unit/agent/test_main"]),
    "readers of a data file run": (["tests/golden/gang/a.json"], ["unit/policy/test_gang"]),
    "a new data file counts too": (["tests/golden/new/a.json"], ["unit/policy/test_gang"]),
    "tests of the devcluster run when it changes": (
        ["devcluster/kubelet.py"],
        ["live/test_agent", "live/test_kubelet"],
    ),
    "a licence changes nothing": (["LICENSE"], []),
    "tests with real frameworks have a run of their own": (["tests/frameworks/test_keras.py"], []),
    "a package's init is used by all in it": (
        ["agent/__init__.py"],
        ["live/test_agent", "unit/agent/test_gone", "unit/agent/test_main"],
    ),
}


@pytest.mark.parametrize(("changed", "chosen"), CASES.values(), ids=CASES)
def test_a_change_runs_what_it_can_reach(changed, chosen):
    found = select(changed, made_up(TEXTS))
    assert [path.removeprefix("tests/").removesuffix(".py") for path in found.chosen] == chosen
    assert found.why_all == ""


CONCERNS = selection.Concerns({"tests/live/test_agent.py": ("agent/",)})
CONCERNED = {
    "a change of its folder": (["agent/tailing.py"], True),
    "a change of the devcluster": (["devcluster/kubelet.py"], True),
    "a change of the test itself": (["tests/live/test_agent.py"], True),
    "a change elsewhere": (["shared/model.py"], False),
    "changes of both": (["shared/model.py", "agent/tailing.py"], True),
}


@pytest.mark.parametrize(("changed", "runs"), CONCERNED.values(), ids=CONCERNED)
def test_a_test_that_concerns_a_folder_runs_for(changed, runs):
    texts = TEXTS | {"shared/model.py": "", "shared/units.py": ""}
    found = made_up(texts)
    users = dict(found.users) | {"shared/model.py": frozenset({"agent/tailing.py"})}
    found = graph.Graph(found.texts, users, found.readers)
    chosen = select(changed, found, CONCERNS).chosen
    assert ("tests/live/test_agent.py" in chosen) is runs
    assert "tests/unit/agent/test_main.py" in select(["shared/model.py"], found, CONCERNS).chosen


def test_the_table_of_concerns_names_tests_and_folders_that_exist():
    for test, folders in selection.Concerns.read().by_test.items():
        assert selection.is_test(test)
        assert (ROOT / test).is_file(), test
        assert all((ROOT / folder).is_dir() and folder.endswith("/") for folder in folders), test


def test_a_change_of_the_queue_runs_the_tests_of_order_and_binding(ours):
    found = select(["extender/core/queue/order.py"], ours, selection.Concerns.read())
    assert "tests/controlplane/queue/test_queued_path.py" in found.chosen
    assert "tests/component/test_crash_steps.py" in found.chosen
    assert "tests/controlplane/rights/test_our_keys.py" in found.left_out


def test_tests_that_still_import_a_deleted_module_run():
    left = {path: text for path, text in TEXTS.items() if path != "agent/gone.py"}
    found = select(["agent/gone.py"], made_up(left))
    assert found.chosen == ("tests/unit/agent/test_gone.py",)


@pytest.mark.parametrize("path", ["pyproject.toml", "new.cfg", "tests/conftest.py", "script.py"])
def test_a_file_that_everything_may_use_runs_everything(path):
    found = select(["agent/tailing.py", path], made_up(TEXTS))
    assert found.why_all == f"every test may use {path}"
    assert found.left_out == ()
    assert found.summary() == [f"all test modules: every test may use {path}"]


def test_left_out_tests_are_counted_by_folder():
    assert select(["agent/tailing.py"], made_up(TEXTS)).summary() == [
        "2 of 5 test modules; the change cannot reach the others:",
        "  tests/live: 1 of 2",
        "  tests/unit/agent: 1 of 2",
        "  tests/unit/policy: 1 of 1",
    ]


@pytest.fixture(scope="module")
def ours():
    return graph.build(ROOT)


def chosen(ours, folder):
    """Run what a change of every file in the folder would."""
    found = select([path for path in ours.texts if path.startswith(folder)], ours)
    assert found.why_all == ""
    return set(found.chosen)


def in_folders(paths, *folders):
    return {path for path in paths if path.startswith(tuple(folders))}


def test_a_change_of_the_agent_runs_no_test_of_the_simulator(ours):
    assert not in_folders(
        chosen(ours, "agent/"), "tests/unit/simulator/", "tests/property/simulator/"
    )


def test_a_change_of_the_extender_runs_it_on_the_control_plane(ours):
    reached = chosen(ours, "extender/")
    assert "tests/controlplane/queue/test_queued_path.py" in reached
    own = [path for path in reached if selection.OWN_MARK in ours.texts[path]]
    assert not own
    assert not in_folders(reached, "tests/unit/process_node/", "tests/unit/trainer/test_kill.py")


def test_a_change_of_the_devcluster_runs_every_test_that_uses_its_fixtures(ours):
    plugin = graph.Fixtures.read(ours.texts[graph.PLUGIN])
    users = {
        path
        for path, text in ours.texts.items()
        if selection.is_test(path) and graph.Fixtures.read(text).used & plugin.defined
    }
    assert users
    assert users <= chosen(ours, "devcluster/")


def test_a_page_runs_no_test_of_the_queue(ours):
    paths = set(select(["docs/submit.md"], ours).chosen)
    assert "tests/docs/test_submit.py" in paths
    assert not in_folders(paths, "tests/component/", "tests/property/")


def test_the_words_that_start_programs_equal_those_of_the_devcluster():
    methods = {word for word in graph.STARTS if word.startswith("start_")}
    assert methods <= set(dir(Cluster))
    kinds = {f"Schedulers.{one.name}" for one in Schedulers if one.shuntyard}
    assert methods | kinds == set(graph.STARTS)


def test_the_files_of_the_devcluster_that_the_graph_names_exist(ours):
    assert {graph.PLUGIN, *graph.STARTERS} <= ours.texts.keys()


def test_every_program_that_the_devcluster_starts_for_others_has_its_word(ours):
    programs = {
        program
        for path, text in ours.texts.items()
        if path.startswith("devcluster/")
        for program in graph.modules_run(inputs.code(text))
    }
    others = {name for name in programs if f"{name}/__main__.py" in ours.texts} - {"devcluster"}
    assert others <= set(graph.STARTS.values())


def test_every_row_of_the_inputs_matches_a_file():
    names = graph.files(ROOT)
    unused = {
        pattern
        for pattern in inputs.READERS
        if not any(fnmatchcase(name, pattern) for name in names)
    }
    assert unused == set()


def test_every_row_of_the_inputs_has_readers(ours):
    rows = {row for row in inputs.READERS if inputs.READERS[row] not in inputs.NO_WORDS}
    names = {row: next(n for n in graph.files(ROOT) if fnmatchcase(n, row)) for row in rows}
    assert [row for row, name in names.items() if not ours.readers.of(name)] == []


def test_a_mark_is_found_in_its_module_and_a_conftest_counts_for_its_folder():
    marked = set(selection.every(ROOT).marked(("controlplane",), ROOT))
    assert {"tests/conformance/test_pods.py", "tests/docs/test_demo.py"} <= marked
    assert "tests/unit/gate/test_graph.py" not in marked
