"""What each pod uses, whatever it is read from."""

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from agent.sampling.gpu import Gpu, GpuReader, mean_ratio
from agent.sampling.readings import PodSource, Rates, Reading
from shared.model import Uid
from shared.progress import Use


class PodSampler:
    """Samples pods; the first source that finds a pod speaks for it.

    Args:
        sources: In order of trust.
        gpus: The node's GPUs; None if it has none that we can read.
    """

    def __init__(self, sources: Sequence[PodSource], gpus: GpuReader | None = None) -> None:
        self._sources = tuple(sources)
        self._gpus = gpus
        self._rates: dict[Uid, Rates] = {}

    @property
    def words(self) -> str:
        """What it reads, for the log."""
        return ", then ".join(source.words for source in self._sources) or "nothing"

    def sample(self, uids: Collection[Uid], now: float) -> Mapping[Uid, Use]:
        """Return what those pods use that were found; rates are means since the previous sample.

        The first sample of a pod has no rates. Pods not among ``uids`` are forgotten.

        Args:
            uids: Of all pods that matter now.
            now: Seconds of the monotonic clock.
        """
        found = self._read(uids, now)
        rates = {uid: self._rates.get(uid) or Rates() for uid in found}
        self._rates = rates
        uses = {uid: rates[uid].use(reading, now) for uid, (_, reading) in found.items()}
        gpus = self._gpus.read(now) if self._gpus else ()
        if any(gpu.processes for gpu in gpus):
            for uid, (source, _) in found.items():
                uses[uid] = _with_gpus(uses[uid], gpus, set(source.pids(uid)))
        return uses

    def _read(self, uids: Collection[Uid], now: float) -> Mapping[Uid, tuple[PodSource, Reading]]:
        found: dict[Uid, tuple[PodSource, Reading]] = {}
        for source in self._sources:
            wanted = frozenset(uids).difference(found)
            for uid, reading in source.read(wanted, now).items():
                found[uid] = (source, reading)
        return found

    def close(self) -> None:
        """Give back files and the GPU library."""
        for source in self._sources:
            source.close()


def _with_gpus(use: Use, gpus: Sequence[Gpu], pids: Collection[int]) -> Use:
    """Add the GPUs on which the pod has processes, and what those hold there."""
    mine = [gpu for gpu in gpus if not gpu.processes.keys().isdisjoint(pids)]
    if not mine:
        return use
    held = [gpu.processes[pid] for gpu in mine for pid in pids if pid in gpu.processes]
    known = [amount for amount in held if amount is not None]
    return replace(
        use,
        gpu_ratio=mean_ratio(mine),
        gpu_memory_bytes=sum(known) if known else None,
    )
