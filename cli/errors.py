"""The command's branch of the error tree (shared.errors).

::

    ShuntyardError
    └── UnansweredError         the extender could not be reached, or its answer cannot be used
"""

from shared.errors import ShuntyardError


class UnansweredError(ShuntyardError):
    """The extender could not be reached, or what it said cannot be used."""
