"""One run of a container: the process, its output into a log file, and its end."""

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Final

from devcluster.process_node import sandbox
from devcluster.process_node.cri_log import LineCutter, LogFile, Stream
from devcluster.process_node.errors import StartError
from devcluster.process_node.process import Process
from devcluster.process_node.sandbox import EntrySpec
from shared.clock import Clock

_READ_BYTES: Final = 64 * 1024
# For the rest in the pipes after all writers have been killed.
_DRAIN_SECONDS: Final = 1.0


class Pump:
    """Copies one stream of a container from its pipe to the log file, as data arrives."""

    def __init__(self, descriptor: int, stream: Stream, log: LogFile, clock: Clock) -> None:
        self.done = asyncio.Event()
        self._descriptor = descriptor
        self._cutter = LineCutter(stream)
        self._log = log
        self._clock = clock
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def _read(self) -> None:
        data = os.read(self._descriptor, _READ_BYTES)
        if data:
            self._log.write(self._cutter.feed(data, self._clock.now()))
        else:
            self.close()

    def close(self) -> None:
        """Write the incomplete last line, and stop."""
        if not self.done.is_set():
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._log.write(self._cutter.close(self._clock.now()))
            self.done.set()


class ContainerProcess:
    """A container that was started; make one with ``start``.

    Args:
        process: Its main process.
        pumps: Its streams.
        log: Where they go.
    """

    def __init__(self, process: Process, pumps: tuple[Pump, ...], log: LogFile) -> None:
        self.process = process
        self._pumps = pumps
        self._log = log

    async def drain(self) -> None:
        """Wait for the rest of the output, and close the log."""
        for pump in self._pumps:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_SECONDS):
                    await pump.done.wait()
            pump.close()
        self._log.close()


def launch(
    spec: EntrySpec, directory: Path, log_path: Path, clock: Clock
) -> tuple[ContainerProcess, int]:
    """Start a container; its entry program writes errors to the returned descriptor.

    Args:
        spec: What to run.
        directory: For the entry's spec file.
        log_path: For its output.
        clock: Stamps the lines.

    Raises:
        OSError: The limit of processes, files or descriptors is reached.
    """
    log = LogFile(log_path)
    output, output_end = os.pipe()
    errors, errors_end = os.pipe()
    channel, channel_end = os.pipe()
    try:
        process = Process(
            sandbox.entry_command(spec, directory / "entry.json", channel_end),
            {},
            stdout=output_end,
            stderr=errors_end,
            kept=(channel_end,),
        )
    except OSError:
        for end in (output, errors, channel):
            os.close(end)
        log.close()
        raise
    finally:
        for end in (output_end, errors_end, channel_end):
            os.close(end)
    pumps = (Pump(output, "stdout", log, clock), Pump(errors, "stderr", log, clock))
    return ContainerProcess(process, pumps, log), channel


async def await_started(channel: int) -> None:
    """Wait until the command runs.

    Raises:
        StartError: It could not be started.
    """
    problem = await _read_all(channel)
    if problem:
        raise StartError(problem.decode(errors="replace"))


async def _read_all(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    os.set_blocking(descriptor, False)
    text = b""
    try:
        while True:
            readable = asyncio.Event()
            loop.add_reader(descriptor, readable.set)
            await readable.wait()
            data = os.read(descriptor, _READ_BYTES)
            if not data:
                return text
            text += data
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
