"""The command's branch of the error tree (shared.errors).

::

    ShuntyardError
    ├── UnansweredError         the extender could not be reached, or its answer cannot be used
    └── UnreadableError         whoever asks may not read something, or the server does not say it
"""

from shared.errors import ShuntyardError


class UnansweredError(ShuntyardError):
    """The extender could not be reached, or what it said cannot be used."""


class UnreadableError(ShuntyardError):
    """One object cannot be read; others can."""
