"""The command's branch of the error tree (shared.errors).

::

    ShuntyardError
    ├── UnansweredError         the extender could not be reached, or its answer cannot be used
    └── UnreadableError         one object cannot be read: no right, or another refusal
"""

from shared.errors import ShuntyardError


class UnansweredError(ShuntyardError):
    """The extender could not be reached, or its answer cannot be used."""


class UnreadableError(ShuntyardError):
    """One object cannot be read; others can."""
