"""Whom we trust and who we are: the CA file and the token file, read again when they change.

On a new cluster agents start before the extender has made an authority: while the CA's directory is
there and the file is not, nobody is trusted and everything else goes on.
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

LOOK_SECONDS: Final = 30.0
"""How often the files are looked at; a projected token is renewed an hour and more before its end
or at a fifth of its life."""

_Stamp = tuple[int, int, int]

log = logging.getLogger(__name__)


class Credentials:
    """See the module; reads both files at once.

    Args:
        authority: File with the CA's certificates, PEM.
        token: File with the service account token for the extender.
        clock: For how often the files are looked at.

    Raises:
        SettingsError: A file cannot be read, other than a CA file that is still to come.
    """

    def __init__(self, authority: Path, token: Path, clock: Clock) -> None:
        self._authority = authority
        self._token_file = token
        self._clock = clock
        self._looked_at = clock.monotonic()
        self._stamps = (_stamp_of_authority(authority), _stamp(token))
        self._context = _context(authority) if self._stamps[0] else None
        self.token = _token(token)

    @property
    def context(self) -> ssl.SSLContext:
        """Whom we trust.

        Raises:
            UnreachableError: Nobody: the CA file has not come yet.
        """
        if self._context is None:
            raise UnreachableError(f"CA file {self._authority} is not there yet: nobody is trusted")
        return self._context

    async def refresh(self) -> None:
        """Take over files that changed; looks at them every ``LOOK_SECONDS``.

        A file that cannot be read now is logged, and what was known stays. A CA file that has not
        come yet is looked for each time.
        """
        if self._context and self._clock.monotonic() - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = self._clock.monotonic()
        try:
            await asyncio.to_thread(self._read_changed)
        except SettingsError as error:
            log.error("%s; what was read before stays in use", error)  # noqa: TRY400 - no defect of ours

    def expire(self) -> None:
        """Have the next ``refresh`` look: a replica did not accept us, or we did not trust it."""
        self._looked_at -= LOOK_SECONDS

    def _read_changed(self) -> None:
        look = _stamp if self._context else _stamp_of_authority
        stamps = (look(self._authority), _stamp(self._token_file))
        if stamps[0] != self._stamps[0]:
            self._context = _context(self._authority)
        if stamps[1] != self._stamps[1]:
            self.token = _token(self._token_file)
        self._stamps = stamps


def _stamp(file: Path) -> _Stamp:
    try:
        found = os.stat(file)  # noqa: PTH116 - it follows the links of a projected volume, as intended
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror}") from error
    return found.st_ino, found.st_mtime_ns, found.st_size


def _stamp_of_authority(file: Path) -> _Stamp | None:
    """Return the stamp; None: the directory is mounted, and has no such file yet."""
    try:
        return _stamp(file)
    except SettingsError:
        if file.parent.is_dir() and not os.path.lexists(file):
            return None
        raise


def _context(authority: Path) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=authority)
    except OSError as error:  # what OpenSSL says of a file that holds no certificate is one, too
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
