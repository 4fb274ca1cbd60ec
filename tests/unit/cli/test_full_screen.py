"""``shuntyard jobs --watch`` on a terminal: head and selection stay while the list changes."""

import io
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace
from rich.text import Text
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Static

from cli.__main__ import main
from cli.errors import UnansweredError
from cli.full_screen import Explanation, JobList, JobsScreen, Source
from cli.views.jobs import Choice
from cli.views.terminal import UNLIMITED, Terminal
from shared.readapi import api
from shared.readapi.answer import JobState
from tests.fakes.job_list import HUGE, LIST, RESNET, TINY, entry
from tests.unit.cli.test_cli import Stop

NEVER = 3600.0
"""Seconds between two requests: a test asks for them itself."""
MANY = [
    entry(f"job-{number:03}", "vision", since=LIST.generated_at - number, position=number + 1)
    for number in range(300)
]


@dataclass
class Extender:
    """Answers with what a test puts here."""

    entries: tuple[api.JobEntry, ...] = LIST.entries
    problem: str = ""
    explained: list[str] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)

    def jobs(self) -> api.JobsResponse:
        if self.problem:
            raise UnansweredError(self.problem)
        return replace(LIST, entries=self.entries)

    def explain(self, job: api.JobEntry, screen: Terminal) -> str:
        self.explained.append(job.job)
        self.widths.append(screen.width)
        if self.problem:
            raise UnansweredError(self.problem)
        return f"Reason:   of {job.job}"

    def screen(self, choice: Choice = Choice()) -> JobsScreen:  # noqa: B008 - it cannot change
        return JobsScreen(Source(self.jobs, self.explain), self.jobs(), choice, NEVER)


def head(screen: JobsScreen) -> str:
    return str(screen.query_one("#head", Static).render())


def status(screen: JobsScreen) -> str:
    return str(screen.query_one("#status", Static).render())


def problem(screen: JobsScreen) -> str:
    shown = screen.query_one("#problem", Static)
    return str(shown.render()) if shown.display else ""


def lines(screen: JobsScreen) -> list[str]:
    return [Text.from_ansi(line).plain for line in screen.query_one(JobList).lines]


def selected(screen: JobsScreen) -> str:
    return screen.query_one(JobList).selected


async def reloaded(pilot: Pilot[None], screen: JobsScreen) -> None:
    screen.reload()
    await screen.workers.wait_for_complete()
    await pilot.pause()


async def test_the_list_is_the_table_of_the_command() -> None:
    screen = Extender().screen()
    async with screen.run_test(size=(82, 24)):
        assert head(screen).split() == [
            *("NAME", "NAMESPACE", "STATE", "REQUESTS", "START/END", "NODES/REASON"),
        ]
        assert lines(screen)[0].startswith("resnet          vision     waiting   32 GPUs ")
        assert len(lines(screen)) == len(LIST.entries)
        assert "2 waiting, 1 blocked, 1 starting, 1 running, 1 done, 1 failed" in status(screen)


async def test_a_wider_terminal_gets_more_columns() -> None:
    screen = Extender().screen()
    async with screen.run_test(size=(82, 24)) as pilot:
        await pilot.resize_terminal(200, 24)
        await pilot.pause()
        assert "CURVE" in head(screen)


async def test_the_selected_job_stays_selected_while_the_list_changes() -> None:
    extender = Extender()
    screen = extender.screen()
    async with screen.run_test(size=(82, 24)) as pilot:
        await pilot.press("down", "down")
        assert selected(screen) == "vision/job/vit-h14"
        extender.entries = (HUGE, *MANY[:5])
        await reloaded(pilot, screen)
        assert selected(screen) == "vision/job/vit-h14"
        assert len(lines(screen)) == 6
        extender.entries = tuple(MANY[:5])
        await reloaded(pilot, screen)
        assert selected(screen) == "vision/job/job-000"


async def test_the_head_stays_where_it_is_while_a_long_list_scrolls() -> None:
    screen = Extender(entries=tuple(MANY)).screen()
    async with screen.run_test(size=(82, 24)) as pilot:
        await pilot.press("end")
        await pilot.pause()
        assert selected(screen) == "vision/job/job-299"
        assert screen.query_one(JobList).scroll_offset.y > 200
        assert screen.query_one("#head", Static).region.y == 1
        before = screen.query_one(JobList).scroll_offset.y
        await reloaded(pilot, screen)
        assert screen.query_one(JobList).scroll_offset.y == before


async def test_the_selected_line_is_marked_and_pages_follow_it() -> None:
    screen = Extender(entries=tuple(MANY)).screen()
    async with screen.run_test(size=(82, 24)) as pilot:
        await pilot.press("pagedown")
        await pilot.pause()
        jobs = screen.query_one(JobList)
        height = jobs.size.height
        assert selected(screen) == f"vision/job/job-{height - 1:03}"
        await pilot.press("down")
        await pilot.pause()
        assert jobs.scroll_offset.y == 1
        drawn = [jobs.render_line(y) for y in range(height)]
        marked = [strip.text.split()[0] for strip in drawn if _is_marked(strip)]
        assert marked == [f"job-{height:03}"]
        await pilot.click(JobList, offset=(3, 2))
        assert selected(screen) == "vision/job/job-003"
        await pilot.press("home", "up")
        assert selected(screen) == "vision/job/job-000"


def _is_marked(strip: Strip) -> bool:
    return any(segment.style is not None and segment.style.reverse for segment in strip)


async def test_an_outage_keeps_the_last_list_and_says_so() -> None:
    extender = Extender()
    screen = extender.screen()
    async with screen.run_test(size=(82, 24)) as pilot:
        assert problem(screen) == ""
        extender.problem = "no extender is ready: " + "`shuntyard doctor` looks for the cause " * 3
        await reloaded(pilot, screen)
        assert problem(screen) == f"not current: {extender.problem}"
        assert screen.query_one("#problem", Static).size.height == 2  # all of it is seen
        assert len(lines(screen)) == len(LIST.entries)
        extender.problem = ""
        await reloaded(pilot, screen)
        assert problem(screen) == ""


async def test_states_follow_one_another_and_then_all_are_shown() -> None:
    screen = Extender().screen()
    async with screen.run_test(size=(82, 24)) as pilot:
        found = []
        for _ in range(len(JobState)):
            await pilot.press("f")
            found.append(len(lines(screen)))
        assert found[:7] == [2, 1, 1, 1, 1, 1, 7]


async def test_the_order_changes_by_keys() -> None:
    screen = Extender().screen()
    async with screen.run_test(size=(82, 24)) as pilot:
        await pilot.press("s")
        names = [line.split()[0] for line in lines(screen)]
        assert names == sorted(names)
        assert "sorted by name" in status(screen)
        await pilot.press("r")
        assert [line.split()[0] for line in lines(screen)] == names[::-1]


@pytest.mark.parametrize(
    ("problem", "want"), [("", "Reason:   of resnet"), ("too slow", "too slow")]
)
async def test_enter_explains_the_selected_job(problem: str, want: str) -> None:
    extender = Extender()
    screen = extender.screen()
    async with screen.run_test(size=(82, 24)) as pilot:
        extender.problem = problem
        await pilot.press("enter")
        await screen.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(screen.screen, Explanation)
        assert str(screen.screen.query_one(Static).render()) == want
        assert extender.explained == ["resnet"]
        box = screen.screen.query_one(VerticalScroll)
        assert extender.widths == [box.size.width - 2]  # beside a scroll bar
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(screen.screen, Explanation)


async def test_an_order_by_a_column_that_no_job_has_any_more_is_given_up() -> None:
    screen = Extender(entries=(RESNET, TINY)).screen(Choice(sort="payoff"))
    async with screen.run_test(size=(82, 24)):
        assert len(lines(screen)) == 2
        assert "by state" in status(screen)


async def test_an_empty_list_is_shown() -> None:
    screen = Extender(entries=()).screen()
    async with screen.run_test(size=(82, 24)) as pilot:
        await pilot.press("down", "enter", "f", "s")
        assert "no jobs" in status(screen)


class Tty(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


SCREENS: dict[str, tuple[list[str], str, bool]] = {
    "a terminal": (["jobs", "-w"], "xterm", True),
    "with a wide table": (["jobs", "-w", "-o", "wide"], "xterm", True),
    "a terminal that cannot move its cursor": (["jobs", "-w"], "dumb", False),
    "another list": (["queue", "-w"], "xterm", False),
    "JSON": (["jobs", "-w", "-o", "json"], "xterm", False),
    "once": (["jobs"], "xterm", False),
}


@pytest.mark.parametrize(("argv", "term", "want"), SCREENS.values(), ids=SCREENS)
@pytest.mark.usefixtures("read_api")
def test_the_list_fills_the_screen_of_a_terminal(
    argv: list[str], term: str, want: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Choice] = []

    def run(source: Source, choice: Choice, seconds: float) -> int:
        assert [job.job for job in source.jobs().entries] == ["resnet"]
        assert source.explain(source.jobs().entries[0], UNLIMITED).startswith("Pod:")
        assert seconds == 2.0
        opened.append(choice)
        return 0

    monkeypatch.setattr("cli.full_screen.run", run)
    monkeypatch.setattr("cli.commands.time.sleep", Stop(0))
    monkeypatch.setenv("TERM", term)
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}", Tty())
    assert main(argv) == 0
    assert [choice.wide for choice in opened] == ([("wide" in argv)] if want else [])


async def test_q_ends_it() -> None:
    screen = Extender().screen()
    async with screen.run_test(size=(82, 24)) as pilot:
        await pilot.press("q")
    assert screen.return_code == 0
