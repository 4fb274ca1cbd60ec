"""A client keeps one TLS context until the file of its authorities changes."""

import logging
import shutil
from pathlib import Path

import pytest

from devcluster.credentials.certificates import Authority
from extender.servers.tls.contexts import ClientTrust
from shared.system_clock import SystemClock


@pytest.fixture
def authorities(tmp_path: Path) -> tuple[Path, Path]:
    first, second = (Authority.create(tmp_path / name, SystemClock()) for name in ("one", "two"))
    return first.certificate, second.certificate


def test_a_context_is_built_once_and_again_when_its_file_changes(
    tmp_path: Path, authorities: tuple[Path, Path]
) -> None:
    file = Path(shutil.copy(authorities[0], tmp_path / "ca.crt"))
    trust = ClientTrust(file)
    first = trust.context()
    assert trust.context() is first
    shutil.copy(authorities[1], file)
    second = trust.context()
    assert second is not first
    assert trust.context() is second
    assert first.get_ca_certs() != second.get_ca_certs() != []


@pytest.mark.parametrize("text", [None, "", "no certificate"])
def test_a_file_that_cannot_be_used_changes_nothing_and_is_logged_once(
    tmp_path: Path,
    authorities: tuple[Path, Path],
    text: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    file = Path(shutil.copy(authorities[0], tmp_path / "ca.crt"))
    trust = ClientTrust(file)
    first = trust.context()
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    with caplog.at_level(logging.WARNING):
        assert [trust.context() is first for _ in range(3)] == [True] * 3
    assert len(caplog.records) == 1
    with pytest.raises(OSError):  # noqa: PT011 - of the file, or of what is in it
        ClientTrust(file).context()


def test_the_authorities_of_the_system_are_read_once() -> None:
    trust = ClientTrust(None)
    assert trust.context() is trust.context()
