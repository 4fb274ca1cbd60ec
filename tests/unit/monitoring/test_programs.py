"""Where Prometheus and promtool come from, and the errors where they are missing."""

from pathlib import Path

import pytest

from monitoring import programs
from monitoring.__main__ import main
from monitoring.errors import ProgramError


def program(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_a_given_program_wins_over_the_path_and_the_path_over_the_cache(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}
    environ[programs.ASSETS] = str(tmp_path / "assets")
    assert programs.find("promtool", environ) is None
    cached = program(tmp_path / "shuntyard/prometheus/usr/bin", "promtool")
    assert programs.find("promtool", environ) == cached
    on_path = program(tmp_path / "bin", "promtool")
    assert programs.find("promtool", environ) == on_path
    given = program(tmp_path / "assets", "promtool")
    assert programs.find("promtool", environ) == given


def test_the_error_for_a_missing_program_names_the_command_that_fetches_it(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path), "PATH": str(tmp_path)}
    with pytest.raises(ProgramError, match="python -m monitoring programs"):
        programs.need("prometheus", environ)


def test_without_apt_the_error_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"XDG_CACHE_HOME": tmp_path, "PATH": tmp_path, programs.ASSETS: ""}.items():
        monkeypatch.setenv(name, str(value))
    assert main(["programs"]) == 1
    assert "cannot be installed" in capsys.readouterr().err
    assert list((tmp_path / "shuntyard").iterdir()) == []
