"""Who is admitted, and with which plan: one look at all jobs with a utility."""

from extender.engine.admission.history import History
from extender.engine.admission.outcome import AdmissionLook, AdmissionMemory
from extender.engine.memory import Reading
from extender.engine.parameters import EngineParameters
from extender.engine.snapshot import Snapshot


def look(
    snapshot: Snapshot,
    reading: Reading,
    params: EngineParameters,
    history: History,
    memory: AdmissionMemory,
) -> AdmissionLook:
    """Return the outcome; the same arguments, the same answer."""
    raise NotImplementedError
