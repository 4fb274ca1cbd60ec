"""Samples the use of each pod, from any source."""

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from agent.sampling.gpu import Gpu, GpuSource, mean_ratio
from agent.sampling.idleness import Idleness
from agent.sampling.readings import PodSource, Rates, Reading
from shared.model import Uid
from shared.progress import Use


class PodSampler:
    """Samples pods; the first source that finds a pod is used for it.

    Args:
        sources: In order of preference.
        gpus: The node's GPUs; None if none can be read.
    """

    def __init__(self, sources: Sequence[PodSource], gpus: GpuSource | None = None) -> None:
        self._sources = tuple(sources)
        self._gpus = gpus
        self._rates: dict[Uid, Rates] = {}
        self._idleness: dict[Uid, Idleness] = {}

    @property
    def description(self) -> str:
        """Description of the sources, for the log."""
        return ", then ".join(source.description for source in self._sources) or "nothing"

    def sample(self, uids: Collection[Uid], now: float) -> Mapping[Uid, Use]:
        """Return the use of the pods that were found; rates are means since the previous sample.

        The first sample of a pod has no rates. Pods not among ``uids`` are forgotten.

        Args:
            uids: Uids of all current pods.
            now: Seconds of the monotonic clock.
        """
        readings = self._read(uids, now)
        rates = {uid: self._rates.get(uid) or Rates() for uid in readings}
        self._rates = rates
        uses = {uid: rates[uid].use(reading, now) for uid, (_, reading) in readings.items()}
        gpus = self._gpus.read(now) if self._gpus else ()
        if any(gpu.processes for gpu in gpus):
            for uid, (source, _) in readings.items():
                uses[uid] = _with_gpus(uses[uid], gpus, set(source.pids(uid)))
        self._idleness = {uid: self._idleness.get(uid) or Idleness() for uid in uses}
        return {
            uid: replace(use, idle_seconds=self._idleness[uid].take(use, now))
            for uid, use in uses.items()
        }

    def _read(self, uids: Collection[Uid], now: float) -> Mapping[Uid, tuple[PodSource, Reading]]:
        readings: dict[Uid, tuple[PodSource, Reading]] = {}
        for source in self._sources:
            missing = frozenset(uids).difference(readings)
            for uid, reading in source.read(missing, now).items():
                readings[uid] = (source, reading)
        return readings

    def close(self) -> None:
        """Close files and the GPU library."""
        for source in self._sources:
            source.close()


def _with_gpus(use: Use, gpus: Sequence[Gpu], pids: Collection[int]) -> Use:
    """Add the GPUs on which the pod has processes, and the memory that those hold there."""
    pod_gpus = [gpu for gpu in gpus if not gpu.processes.keys().isdisjoint(pids)]
    if not pod_gpus:
        return use
    held = [gpu.processes[pid] for gpu in pod_gpus for pid in pids if pid in gpu.processes]
    amounts = [amount for amount in held if amount is not None]
    return replace(
        use,
        gpu_ratio=mean_ratio(pod_gpus),
        gpu_memory_bytes=sum(amounts) if amounts else None,
    )
