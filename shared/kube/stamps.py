"""RFC 3339 stamps of the API to seconds since the epoch and back."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=1024)
def parse(stamp: str | None) -> float:
    """Return a Time or MicroTime in seconds since the epoch; 0.0 where there is none.

    Pods of a gang are created and bound in few different seconds: they share the number.

    Raises:
        ValueError: ``stamp`` is not a stamp.
    """
    return datetime.fromisoformat(stamp).timestamp() if stamp else 0.0


def seconds(at_seconds: float) -> str:
    """Return ``metav1.Time``: whole seconds."""
    return datetime.fromtimestamp(at_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micros(at_seconds: float) -> str:
    """Return ``metav1.MicroTime``: always six digits."""
    return datetime.fromtimestamp(at_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
