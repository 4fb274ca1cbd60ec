"""The CA file and the token file, read again when they change.

On a new cluster agents start before the extender has created a CA: while the CA's directory exists
and the file does not, no replica can be verified and everything else works.
"""

import asyncio
import logging
import os
import ssl
from pathlib import Path
from typing import Final

from agent.errors import UnreachableError
from shared.clock import Clock
from shared.errors import SettingsError

CHECK_SECONDS: Final = 30.0
"""How often the files are checked; a projected token is renewed an hour and more before its end
or at a fifth of its life."""

_Stamp = tuple[int, int, int]

log = logging.getLogger(__name__)


class Credentials:
    """See the module; reads both files immediately.

    Args:
        authority: File with the CA's certificates, PEM.
        token: File with the service account token for the extender.
        clock: Limits how often the files are checked.

    Raises:
        SettingsError: A file cannot be read, except a CA file that does not exist yet.
    """

    def __init__(self, authority: Path, token: Path, clock: Clock) -> None:
        self._authority = authority
        self._token_file = token
        self._clock = clock
        self._checked_at = clock.monotonic()
        self._stamps = (_stamp_of_authority(authority), _stamp(token))
        self._context = _context(authority) if self._stamps[0] else None
        self.token = _token(token)

    @property
    def context(self) -> ssl.SSLContext:
        """The TLS context that trusts the CA.

        Raises:
            UnreachableError: The CA file does not exist yet.
        """
        if self._context is None:
            raise UnreachableError(
                f"CA file {self._authority} does not exist yet: replicas cannot be verified"
            )
        return self._context

    async def refresh(self) -> None:
        """Read files that changed; checks them every ``CHECK_SECONDS``.

        A file that cannot be read now is logged, and its previous content stays in use. A CA file
        that does not exist yet is checked each time.
        """
        if self._context and self._clock.monotonic() - self._checked_at < CHECK_SECONDS:
            return
        self._checked_at = self._clock.monotonic()
        try:
            await asyncio.to_thread(self._read_changed)
        except SettingsError as error:
            log.error("%s; the previous content stays in use", error)  # noqa: TRY400 - no defect of ours

    def expire(self) -> None:
        """Let the next ``refresh`` check: a replica refused our token, or was not trusted."""
        self._checked_at -= CHECK_SECONDS

    def _read_changed(self) -> None:
        stamp_of = _stamp if self._context else _stamp_of_authority
        stamps = (stamp_of(self._authority), _stamp(self._token_file))
        if stamps[0] != self._stamps[0]:
            self._context = _context(self._authority)
        if stamps[1] != self._stamps[1]:
            self.token = _token(self._token_file)
        self._stamps = stamps


def _stamp(file: Path) -> _Stamp:
    try:
        status = os.stat(file)  # noqa: PTH116 - it follows the links of a projected volume, as intended
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror}") from error
    return status.st_ino, status.st_mtime_ns, status.st_size


def _stamp_of_authority(file: Path) -> _Stamp | None:
    """Return the stamp; None if the directory is mounted without such a file."""
    try:
        return _stamp(file)
    except SettingsError:
        if file.parent.is_dir() and not os.path.lexists(file):
            return None
        raise


def _context(authority: Path) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=authority)
    except OSError as error:  # OpenSSL raises one for a file without a certificate too
        raise SettingsError(f"CA file {authority}: {error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _token(file: Path) -> str:
    try:
        token = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"token file {file}: {error}") from error
    if not token:
        raise SettingsError(f"token file {file} is empty")
    return token
