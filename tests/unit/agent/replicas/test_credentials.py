"""CA and token are read again when they change, and not more often."""

import os
import ssl
from pathlib import Path

import pytest

from agent.errors import UnreachableError
from agent.replicas.credentials import CHECK_SECONDS, Credentials
from shared.errors import SettingsError
from tests.fakes.extender import Trust


class HandClock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    monotonic = now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


def renew(token: Path, text: str) -> None:
    """As the kubelet does: a new file in the place of the old one."""
    fresh = token.with_name("fresh")
    fresh.write_text(text)
    fresh.replace(token)


async def test_a_renewed_token_is_used_at_the_next_check(tmp_path: Path, clock: HandClock) -> None:
    trust = Trust.create(tmp_path)
    credentials = Credentials(trust.authority, trust.token, clock)
    renew(trust.token, "renewed\n")
    await credentials.refresh()
    assert credentials.token != "renewed"
    clock.seconds = CHECK_SECONDS
    await credentials.refresh()
    assert credentials.token == "renewed"


async def test_a_refusal_causes_a_check_at_once(tmp_path: Path, clock: HandClock) -> None:
    trust = Trust.create(tmp_path)
    credentials = Credentials(trust.authority, trust.token, clock)
    renew(trust.token, "renewed")
    credentials.expire()
    await credentials.refresh()
    assert credentials.token == "renewed"


async def test_files_that_did_not_change_are_not_read_again(
    tmp_path: Path, clock: HandClock
) -> None:
    trust = Trust.create(tmp_path)
    credentials = Credentials(trust.authority, trust.token, clock)
    context, stamp = credentials.context, trust.token.stat()
    trust.token.write_text("x" * stamp.st_size)
    os.utime(trust.token, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    credentials.expire()
    await credentials.refresh()
    assert (credentials.context, credentials.token) == (context, credentials.token)
    assert credentials.token != "x" * stamp.st_size


async def test_a_new_authority_is_trusted(tmp_path: Path, clock: HandClock) -> None:
    trust, other = Trust.create(tmp_path / "a"), Trust.create(tmp_path / "b")
    credentials = Credentials(trust.authority, trust.token, clock)
    before = credentials.context
    renew(trust.authority, other.authority.read_text())
    credentials.expire()
    await credentials.refresh()
    assert credentials.context is not before


async def test_a_file_that_becomes_unreadable_keeps_its_last_value(
    tmp_path: Path, clock: HandClock
) -> None:
    trust = Trust.create(tmp_path)
    credentials = Credentials(trust.authority, trust.token, clock)
    before = credentials.token
    for text in ("", "\n"):
        renew(trust.token, text)
        credentials.expire()
        await credentials.refresh()
    trust.token.unlink()
    credentials.expire()
    await credentials.refresh()
    assert credentials.token == before


async def test_the_agent_waits_for_a_missing_ca_and_then_reads_it_at_once(
    tmp_path: Path, clock: HandClock
) -> None:
    trust = Trust.create(tmp_path)
    later = trust.authority.read_text()
    trust.authority.unlink()
    credentials = Credentials(trust.authority, trust.token, clock)
    await credentials.refresh()
    with pytest.raises(UnreachableError, match=f"{trust.authority} does not exist yet"):
        _ = credentials.context
    trust.authority.write_text(later)
    await credentials.refresh()
    assert isinstance(credentials.context, ssl.SSLContext)


def test_a_ca_whose_directory_is_not_mounted_is_an_error(tmp_path: Path, clock: HandClock) -> None:
    trust = Trust.create(tmp_path)
    with pytest.raises(SettingsError, match="nowhere"):
        Credentials(tmp_path / "nowhere" / "ca.crt", trust.token, clock)


UNUSABLE = {
    "a CA file without a certificate": ("authority", "nothing"),
    "no token file": ("token", None),
    "an empty token file": ("token", " \n"),
}


@pytest.mark.parametrize(("which", "text"), UNUSABLE.values(), ids=UNUSABLE)
def test_the_start_names_the_file_that_cannot_be_used(
    tmp_path: Path, clock: HandClock, which: str, text: str | None
) -> None:
    trust = Trust.create(tmp_path)
    file: Path = getattr(trust, which)
    file.unlink()
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsError, match=str(file)):
        Credentials(trust.authority, trust.token, clock)
