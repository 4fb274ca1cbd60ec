"""``shuntyard jobs --watch`` on a terminal: the list fills the screen; head and selection stay."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Footer, Static
from typing_extensions import override

from cli.errors import UnansweredError
from cli.views import jobs
from cli.views.terminal import Terminal
from shared.readapi import api
from shared.readapi.answer import JobState

_SORTS: Final = ("", "name", "namespace", "requests", "since", "start/end")
_FAR: Final = 10**9
"""Lines to the end of any list."""
_MARGIN: Final = 2
"""Characters beside a line: the scroll bar."""
_FRAME: Final = 4
"""Characters beside an explanation: its border and padding."""
_PART: Final = 0.95
"""Of the width, that an explanation takes."""


@dataclass(frozen=True)
class Source:
    """Where the screen has its texts from; both may raise ``UnansweredError``.

    Attributes:
        jobs: Returns the list.
        explain: Returns what ``shuntyard explain`` shows of a job on a terminal.
    """

    jobs: Callable[[], api.JobsResponse]
    explain: Callable[[api.JobEntry, Terminal], str]


def run(source: Source, choice: jobs.Choice, seconds: float) -> int:
    """Show the list until the user ends it; return the exit code.

    Args:
        source: See there.
        choice: Columns, and the order at the beginning.
        seconds: Time between two requests.

    Raises:
        UnansweredError: The first request is not answered.
    """
    JobsScreen(source, source.jobs(), choice, seconds).run()
    return 0


class Explanation(ModalScreen[None]):
    """Why one job waits; any of the keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,enter", "dismiss", "back")]
    DEFAULT_CSS = f"""
    Explanation {{ align: center middle; }}
    Explanation VerticalScroll {{
        width: {_PART:.0%}; height: 90%; border: round $accent; padding: 0 1;
    }}
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    @override
    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(Text.from_ansi(self._text))
        yield Footer()


class JobList(ScrollView, can_focus=True):
    """The lines of the list; only those that are seen are drawn, so thousands cost nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("enter", "select", "explain"),
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", f"move(-{_FAR})", show=False),
        Binding("end", f"move({_FAR})", show=False),
    ]

    class Selected(Message):
        """The user wants to know more about the job of this name."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self) -> None:
        super().__init__(id="jobs")
        self.lines: list[str] = []
        self.names: list[str] = []
        self.place = 0

    @property
    def selected(self) -> str:
        """Name of the selected job; empty if there is none."""
        return self.names[self.place] if self.names else ""

    def show(self, names: list[str], lines: list[str]) -> None:
        """Show other lines; the selected job stays selected, else the first one is."""
        selected = self.selected
        self.names, self.lines = names, lines
        self.place = names.index(selected) if selected in names else 0
        self.virtual_size = Size(0, len(lines))
        self.refresh()

    @override
    def render_line(self, y: int) -> Strip:
        place, width = y + self.scroll_offset.y, self.size.width
        line = self.lines[place] if place < len(self.lines) else ""
        text = Text.from_ansi(line, no_wrap=True)
        if line and place == self.place:
            text.stylize("reverse")
        text.pad_right(max(0, width - text.cell_len))
        return Strip(text.render(self.app.console)).crop(0, width)

    def action_move(self, lines: int) -> None:
        """Select another job, and scroll to it."""
        self.place = max(0, min(len(self.names) - 1, self.place + lines))
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if not top <= self.place < top + height:
            y = self.place if self.place < top else self.place - height + 1
            self.scroll_to(y=y, animate=False, immediate=True)
        self.refresh()

    def action_page(self, pages: int) -> None:
        """Select a job a page away."""
        self.action_move(pages * max(1, self.size.height - 1))

    def on_click(self, event: Click) -> None:
        """Select the job under the mouse."""
        self.action_move(event.y + self.scroll_offset.y - self.place)

    def action_select(self) -> None:
        """Report the selected job."""
        if self.names:
            self.post_message(self.Selected(self.selected))


class JobsScreen(App[None]):
    """The list of jobs with its heading above it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("s", "sort", "sort"),
        ("r", "reverse", "reverse"),
        ("f", "state", "state"),
        ("q", "quit", "quit"),
    ]
    TITLE = "shuntyard jobs"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #status { height: 1; }
    #problem { height: auto; color: red; }
    #head { height: 1; text-style: bold; }
    #jobs, #jobs:focus { border: none; padding: 0; height: 1fr; background: $background; }
    """

    def __init__(
        self, source: Source, answer: api.JobsResponse, choice: jobs.Choice, seconds: float
    ) -> None:
        super().__init__(ansi_color=True)
        self._source, self._answer, self._seconds = source, answer, seconds
        self._choice = choice
        self._state: JobState | None = None
        self._width = 80
        self._problem = ""
        self._by_name: dict[str, api.JobEntry] = {}

    @override
    def compose(self) -> ComposeResult:
        yield Static(id="status")
        yield Static(id="problem")
        yield Static(id="head")
        yield JobList()
        yield Footer()

    def on_mount(self) -> None:
        """Ask again and again."""
        self.query_one(JobList).focus()
        self.set_interval(self._seconds, self.reload)

    @on(Resize)
    def fit(self, event: Resize) -> None:
        """Choose the columns that fit."""
        self._width = event.size.width
        self.draw()

    def draw(self) -> None:
        """Show the last answer; the selected job stays selected."""
        shown = self._of_state()
        screen = Terminal(self._width - _MARGIN, blocks=True, colours=True, height=1)
        try:
            lines, entries = jobs.rows(shown, self._choice, screen)
        except UnansweredError:  # no job has the column to sort by any more
            self._choice = self._choice._replace(sort="")
            lines, entries = jobs.rows(shown, self._choice, screen)
        self._by_name = {f"{job.namespace}/{job.kind}/{job.job}": job for job in entries}
        self.query_one(JobList).show(list(self._by_name), lines[1:])
        self.query_one("#head", Static).update(Text.from_ansi(lines[0], no_wrap=True))
        self.query_one("#status", Static).update(self._status(len(entries)))
        problem = self.query_one("#problem", Static)
        problem.update(Text(f"not current: {self._problem}"))
        problem.display = bool(self._problem)

    @work(thread=True, exclusive=True)
    def reload(self) -> None:
        """Request the list; an outage is shown, and the last answer stays."""
        try:
            answer, problem = self._source.jobs(), ""
        except UnansweredError as error:
            answer, problem = self._answer, str(error)
        self.call_from_thread(self._show, answer, problem)

    def _show(self, answer: api.JobsResponse, problem: str) -> None:
        self._answer, self._problem = answer, problem
        self.draw()

    @on(JobList.Selected)
    def explain(self, event: JobList.Selected) -> None:
        """Explain the selected job."""
        self._explain(self._by_name[event.name])

    @work(thread=True)
    def _explain(self, job: api.JobEntry) -> None:
        width = int(self._width * _PART) - _FRAME - _MARGIN
        screen = Terminal(width, blocks=True, colours=True, height=1)
        try:
            text = self._source.explain(job, screen)
        except UnansweredError as error:
            text = str(error)
        self.call_from_thread(self.push_screen, Explanation(text))

    def action_sort(self) -> None:
        """Sort by the next column."""
        sort = self._choice.sort
        place = _SORTS.index(sort) if sort in _SORTS else 0
        self._choice = self._choice._replace(sort=_SORTS[(place + 1) % len(_SORTS)])
        self.draw()

    def action_reverse(self) -> None:
        """Turn the order round."""
        self._choice = self._choice._replace(reverse=not self._choice.reverse)
        self.draw()

    def action_state(self) -> None:
        """Show jobs of the next state that a job is in; after the last one all."""
        states = [None, *(s for s in JobState if any(j.state is s for j in self._answer.entries))]
        place = states.index(self._state) if self._state in states else 0
        self._state = states[(place + 1) % len(states)]
        self.draw()

    def _of_state(self) -> api.JobsResponse:
        if self._state is None:
            return self._answer
        kept = tuple(job for job in self._answer.entries if job.state is self._state)
        return api.JobsResponse(generated_at=self._answer.generated_at, entries=kept)

    def _status(self, shown: int) -> Text:
        counts = Counter(job.state for job in self._answer.entries)
        parts = [f"{counts[state]} {state.value}" for state in JobState if counts[state]]
        at = datetime.fromtimestamp(self._answer.generated_at, UTC).astimezone()
        order = f"sorted by {self._choice.sort}" if self._choice.sort else "by state"
        chosen = "" if self._state is None else f", only {self._state.value}: {shown}"
        line = f"{at:%H:%M:%S}  {order}{chosen}; {', '.join(parts) or 'no jobs'}"
        return Text(line, style="dim", no_wrap=True, overflow="ellipsis")
