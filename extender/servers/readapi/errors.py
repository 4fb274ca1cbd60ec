"""The listeners' branch of the error tree (shared.errors).

::

    ShuntyardError
    └── GivenUpError            an answer is not worked out to its end
"""

from shared.errors import ShuntyardError


class GivenUpError(ShuntyardError):
    """The work was ended: its time was over, or nobody waits for it any more."""
