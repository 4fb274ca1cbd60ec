"""Follows the driver of the GPUs: it may come after the agent, go away, and be replaced.

GPU operators install a driver minutes after a node has joined. Until then a try only looks for the
driver's library, so that a node without GPUs never loads the module.
"""

import logging
from collections.abc import Callable
from typing import Final

from agent.errors import NoGpuError
from agent.sampling.gpu import Gpu, GpuReader, open_gpu
from shared.progress import LARGEST, GpuHealth

LEAST_PAUSE_SECONDS: Final = 10.0
"""Between the first tries; each pause is twice as long as the one before."""
MOST_PAUSE_SECONDS: Final = 300.0

log = logging.getLogger(__name__)


class Gpus:
    """The GPUs of this node, read as long as they can be.

    While a device or all of them are missing, the library is opened again after growing pauses.
    Each change is one line of the log.

    Args:
        opened: Opens the library.
    """

    def __init__(self, opened: Callable[[], GpuReader] = open_gpu) -> None:
        self._opened = opened
        self._reader: GpuReader | None = None
        self._devices = 0
        self._gpus: tuple[Gpu, ...] = ()
        self._try_at = float("-inf")
        self._pause_seconds = LEAST_PAUSE_SECONDS
        self._open()
        self._logged = self.description

    @property
    def description(self) -> str:
        """The devices, or why none is read; for the log."""
        return f"none ({self._reason})" if self._reader is None else self._reader.description

    @property
    def health(self) -> GpuHealth | None:
        """What the last reading shows; None if no device was ever found."""
        if not self._devices:
            return None
        counts = [gpu.uncorrected_errors for gpu in self._gpus]
        known = [count for count in counts if count is not None]
        return GpuHealth(
            devices=self._devices,
            lost=self._devices - len(self._gpus),
            uncorrected_errors=min(sum(known), LARGEST) if known else None,
            pending_remaps=sum(gpu.pending_remap for gpu in self._gpus),
            failed_remaps=sum(gpu.failed_remap for gpu in self._gpus),
        )

    def read(self, now: float) -> tuple[Gpu, ...]:
        """Return the devices that can be read; ``now`` in seconds of the monotonic clock."""
        if not self._whole and now >= self._try_at:
            self.close()
            self._open()
            self._try_at = now + self._pause_seconds
            self._pause_seconds = min(2 * self._pause_seconds, MOST_PAUSE_SECONDS)
        self._gpus = self._read(now)
        if self._whole:
            self._pause_seconds = LEAST_PAUSE_SECONDS
        if self.description != self._logged:
            level = logging.INFO if self._whole else logging.WARNING
            log.log(level, "GPUs: %s; before: %s", self.description, self._logged)
            self._logged = self.description
        return self._gpus

    def close(self) -> None:
        """Shut the library down."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    @property
    def _whole(self) -> bool:
        return self._reader is not None and not self._reader.lost

    def _open(self) -> None:
        try:
            self._reader = self._opened()
            self._devices = self._reader.devices
        except NoGpuError as error:
            self._reason = str(error)

    def _read(self, now: float) -> tuple[Gpu, ...]:
        try:
            return self._reader.read(now) if self._reader is not None else ()
        except NoGpuError as error:
            self.close()
            self._reason = str(error)
            return ()
