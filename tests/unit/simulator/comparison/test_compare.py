"""``shuntyard-sim compare``: its output, files and refusals."""

import json

import pytest

from simulator import compare, results
from simulator.comparison import comparing
from simulator.main import main
from tests.unit.simulator.traces.places import FIXTURES

QUICK = ["--seeds", "2", "--processes", "1"]
MIXED = ["compare", "--mixed", "--jobs", "10", "--window", "600", *QUICK]


def test_a_comparison_gives_tables_json_and_picture_the_same_bytes_each_time(tmp_path, capsys):
    for folder in ("one", "two"):
        out = ["--policy", "cps,combined,shortest", "--out", str(tmp_path / folder)]
        assert main([*MIXED, *out]) == 0
    output = capsys.readouterr().out
    assert "| combined |" in output
    assert "combined against cps (paper):" in output
    assert "combined is dominated by" in output
    one, two = (results.read(tmp_path / f / "compare.json") for f in ("one", "two"))
    assert one.tables == two.tables
    assert one.series == two.series
    svgs = [(tmp_path / folder / "compare.svg").read_bytes() for folder in ("one", "two")]
    assert svgs[0] == svgs[1]
    assert one.seeds == (("training", 1, 2),)
    assert (
        (tmp_path / "one" / "compare.md")
        .read_text()
        .splitlines()[2]
        .startswith("# Policies on mixed")
    )


def test_the_order_service_of_the_settings_is_that_of_combined_too(tmp_path, monkeypatch):
    given = []

    def run(comparison, seeds, processes):
        given.append(comparison)
        return [comparing.run_seed(comparison, seed) for seed in seeds]

    monkeypatch.setattr(compare.comparing, "run", run)
    file = tmp_path / "settings.yaml"
    file.write_text("service: {ageing: 7}\n")
    assert main([*MIXED, "--policy", "combined", "--settings", str(file)]) == 0
    assert [one.combined.order.ageing for one in given] == [7.0]
    assert [one.engine.service.ageing for one in given] == [7.0]


def test_held_out_seeds_are_marked_as_such(tmp_path):
    out = ["--policy", "creation", "--held-out", "--out", str(tmp_path)]
    assert main([*MIXED, *out]) == 0
    outcome = results.read(tmp_path / "compare.json")
    assert outcome.seeds == (("held out", 1001, 1002),)
    assert "--held-out" in outcome.command


def test_the_first_seed_can_be_chosen_and_is_in_the_command(tmp_path):
    out = ["--policy", "creation", "--held-out", "--first-seed", "1006", "--out", str(tmp_path)]
    assert main([*MIXED, *out]) == 0
    outcome = results.read(tmp_path / "compare.json")
    assert outcome.seeds == (("held out", 1006, 1007),)
    assert "--held-out --first-seed 1006 " in outcome.command


def test_a_trace_is_compared_by_windows_and_the_command_names_no_folder_of_the_machine(tmp_path):
    path = FIXTURES / "own" / "jobs.csv"
    arguments = ["compare", "--trace", str(path), "--from", "0", "--nodes", "2", "--jobs", "3"]
    out = ["--policy", "cps,density", "--out", str(tmp_path), *QUICK]
    assert main([*arguments, *out]) == 0
    outcome = results.read(tmp_path / "compare.json")
    assert str(FIXTURES) not in (tmp_path / "compare.json").read_text()
    assert "--trace own/jobs.csv" in outcome.command
    result = json.loads((tmp_path / "compare.json").read_text())["series"]["found"]
    assert result[0]["metrics"]["density"]["value"] == pytest.approx(1.0, abs=0.05)


def test_a_trace_without_utilities_has_no_value_and_a_front_of_two(tmp_path):
    path = FIXTURES / "adaptdl" / "workload.csv"
    arguments = ["compare", "--trace", str(path), "--from", "0", "--nodes", "1", *QUICK]
    assert main([*arguments, "--policy", "drs,combined", "--out", str(tmp_path)]) == 0
    outcome = results.read(tmp_path / "compare.json")
    assert outcome.series["objectives"] == ["mean", "makespan"]
    assert "value obtained" not in outcome.findings[0]


WRONG = {
    "an unknown policy": (["--mixed", "--policy", "cps,lottery"], "lottery: expected some of cps,"),
    "a seed that is held out": (
        ["--mixed", "--seeds", "2", "--first-seed", "1000"],
        "--first-seed: 1000: expected all 2 seeds below 1001 (--held-out)",
    ),
    "a seed that is not held out": (
        ["--mixed", "--held-out", "--first-seed", "7"],
        "--first-seed: 7: expected all 5 seeds 1001 or above",
    ),
    "a file that is not there": (
        ["--trace", "nowhere.csv"],
        "nowhere.csv: file: 'nowhere.csv' is not a file or folder that exists",
    ),
}


@pytest.mark.parametrize(("arguments", "text"), WRONG.values(), ids=WRONG)
def test_bad_options_and_input_end_with_a_message(arguments, text, capsys):
    assert main(["compare", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("shuntyard-sim compare: ")
    assert (shown.err.count("\n"), text in shown.err, shown.out) == (1, True, "")


BEYOND = {
    "--jobs 0": "argument --jobs: '0' is not a whole number of at least 1",
    "--processes 0": "argument --processes: '0' is not a whole number of at least 1",
    "--seeds many": "argument --seeds: 'many' is not a whole number of at least 1",
    "--estimate-error -4": "argument --estimate-error: '-4' is not a number from 0 to 1",
    "--estimate-error nan": "argument --estimate-error: 'nan' is not a number from 0 to 1",
    "--load 0": "argument --load: '0' is not a number above 0",
}


@pytest.mark.parametrize(("option", "text"), BEYOND.items(), ids=BEYOND)
def test_an_invalid_number_is_refused_with_its_option(option, text, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["compare", "--mixed", *option.split()])
    assert caught.value.code == 2
    assert text in capsys.readouterr().err


def test_help_shows_the_defaults(capsys):
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    output = " ".join(capsys.readouterr().out.split())
    assert [one for one in ("120", "1.2", "5", "0.15") if f"default: {one}" not in output] == []


def test_skipped_lines_are_counted_and_printed(tmp_path, capsys):
    for name in ("jobs.csv", "jobs.machines.csv"):
        (tmp_path / name).write_text((FIXTURES / "own" / name).read_text())
    path = tmp_path / "jobs.csv"
    path.write_text(path.read_text().replace("plain,0,1,60", "plain,0,1,none"))
    arguments = ["compare", "--trace", str(path), "--from", "0", "--nodes", "2", *QUICK]
    assert main([*arguments, "--policy", "cps"]) == 2
    assert "jobs.csv:3: duration_s: 'none' is not" in capsys.readouterr().err
    assert main([*arguments, "--policy", "cps", "--skip-bad-lines"]) == 0
    output = capsys.readouterr().out
    assert "skipped: " in output
    assert "1 lines were skipped." in output
