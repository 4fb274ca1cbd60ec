"""`shuntyard migrations`: all of them, one of them, those of a namespace."""

import json

import msgspec
import pytest

from cli.__main__ import main
from cli.views.amounts import span
from cli.views.ledger import details, migrations
from cli.views.terminal import Terminal
from shared.readapi import api
from tests.fakes.answers import JOBS, MIGRATIONS
from tests.unit.cli.conftest import ReadApi

DETAILS = """\
Migration: team-a/resnet-0-1a2b3c4d
Job:       resnet (job)
Why:       converged: gain 120 s against 20 s
Gain:      2m00s
Cost:      20s
Mover:     evict
Phase:     Completed
Message:   -
Downtime:  12s
Work lost: 0 steps

PHASE                ENTERED  TOOK
Requested              +0.0s  0.5s
CheckpointRequested    +0.5s  8.2s
Evicting               +8.8s   12s
Completed               +20s     -

POD       FROM    TO      REPLACEMENT  SAVED   SIZE  SAVING  RESUMED
resnet-0  node-a  node-b  resnet-0-x    1200  5 MiB    0.8s     1200
"""

IN_TEAM_A = "/v1/migrations?namespace=team-a"
ONE = {
    "its name": (["resnet-0-1a2b3c4d"], "/v1/migrations"),
    "namespace and name": (["team-a/resnet-0-1a2b3c4d"], IN_TEAM_A),
    "the option": (["resnet-0-1a2b3c4d", "-n", "team-a"], IN_TEAM_A),
}


@pytest.mark.parametrize(("argv", "asked"), ONE.values(), ids=ONE)
def test_one_migration_is_shown_in_full(
    read_api: ReadApi, argv: list[str], asked: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["migrations", *argv]) == 0
    assert capsys.readouterr().out == DETAILS
    assert read_api.asked == [asked]


@pytest.mark.parametrize("argv", [["unknown"], ["team-b/resnet-0-1a2b3c4d"]])
@pytest.mark.usefixtures("read_api")
def test_an_unknown_migration_has_exit_code_1(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["migrations", *argv]) == 1
    assert f"migration {argv[0].rpartition('/')[2]} not found" in capsys.readouterr().err


@pytest.mark.usefixtures("read_api")
def test_a_namespace_has_its_migrations_and_its_jobs_that_were_not_moved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["migrations", "-n", "team-a", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["job"] for entry in found["entries"]] == ["resnet"]
    assert [one["job"] for one in found["declined"]] == ["team-a/job/gpt"]


@pytest.mark.usefixtures("read_api")
def test_json_of_one_migration_is_a_whole_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrations", "bert-9f8e7d6c", "-o", "json"]) == 0
    found = msgspec.json.decode(capsys.readouterr().out, type=api.MigrationsResponse)
    assert (found.entries, found.declined) == (MIGRATIONS.entries[1:], ())


def test_a_standby_names_the_state_it_lacks(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    standby = msgspec.structs.replace(MIGRATIONS, acting=False, declined=())
    read_api.answers["/v1/migrations"] = (200, msgspec.json.encode(standby))
    main(["migrations"])
    assert "this replica is a standby" in capsys.readouterr().out


def test_a_missing_value_is_a_dash() -> None:
    new = msgspec.structs.replace(MIGRATIONS.entries[1], transitions=(), members=())
    lines = details(new)
    assert "Downtime:  -" in lines
    assert "Work lost: -" in lines


@pytest.mark.parametrize("width", [80, 100, 200])
def test_the_move_of_a_gang_over_many_nodes_fits_the_terminal(width: int) -> None:
    entry = MIGRATIONS.entries[1]
    members = [
        msgspec.structs.replace(entry.members[0], source=f"node-{i:04}", target=f"node-{i + 9:04}")
        for i in range(8)
    ]
    moved = msgspec.structs.replace(entry, members=tuple(members), job="a-very-long-name-of-a-job")
    answer = msgspec.structs.replace(MIGRATIONS, entries=(moved,))
    screen = Terminal(width, blocks=True, colours=False, height=24)
    lines = migrations(answer, wide=False, screen=screen)
    assert max(map(len, lines)) <= width
    assert "node-0000," in lines[1]


SPANS = {0.0: "0.0s", -1.0: "0.0s", 9.94: "9.9s", 9.96: "10s", 10.0: "10s", 75.0: "1m15s"}


@pytest.mark.parametrize(("seconds", "want"), SPANS.items())
def test_short_times_have_a_decimal(seconds: float, want: str) -> None:
    assert span(seconds) == want


def test_a_terminal_without_blocks_gets_plain_curves(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.views.terminal.can_show_blocks", lambda _encoding: False)
    assert main(["jobs"]) == 0
    out = capsys.readouterr().out
    assert out.isascii()
    assert "##**++==--::..__"[:4] in out


def test_characters_that_the_terminal_lacks_are_replaced(
    read_api: ReadApi, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    (job,) = JOBS.entries
    strange = msgspec.structs.replace(JOBS, entries=(msgspec.structs.replace(job, job="trän→"),))
    read_api.answers["/v1/jobs"] = (200, msgspec.json.encode(strange))
    with (tmp_path / "out").open("w", encoding="ascii") as out:
        monkeypatch.setattr("sys.stdout", out)
        assert main(["jobs"]) == 0
    assert "tr?n?" in (tmp_path / "out").read_text()
