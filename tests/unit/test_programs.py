"""What the programs say of themselves to who runs them."""

from collections.abc import Callable, Sequence

import pytest

from agent.main import main as agent
from extender.app.main import main as extender
from simulator.main import main as simulator

Main = Callable[[Sequence[str] | None], int]
PROGRAMS: dict[str, tuple[Main, str]] = {
    "shuntyard-agent": (agent, "reports both to shuntyard-extender"),
    "shuntyard-extender": (extender, "Decides which training jobs run"),
    "shuntyard-sim": (simulator, "Compares policies on traces"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_says_what_a_program_is_for(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main, text = PROGRAMS[name]
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith(f"usage: {name}")
    assert text in shown
    assert [word for word in ("`", "composition root", "TaskGroup") if word in shown] == []
