"""What can be wrong with the store or its log.

::

    ShuntyardError
    ├── InvariantError     the store keeps something that a recomputation does not give
    └── RecordingError     a decision log cannot be replayed
"""

from shared.errors import ShuntyardError


class InvariantError(ShuntyardError, AssertionError):
    """Something that the store keeps is not what a recomputation gives."""


class RecordingError(ShuntyardError):
    """A log cannot be replayed; names the line."""
