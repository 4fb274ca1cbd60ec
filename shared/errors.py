"""The root of our error tree.

::

    ShuntyardError
    ├── InputError              somebody's text cannot be used; names field and expectation
    │   ├── QuantityError       a Kubernetes quantity (shared.quantity)
    │   └── DurationError       a Go duration (shared.duration)
    ├── SettingsError           the settings file or environment (shared.settings)
    └── ApiError                the API server said no (shared.kube.errors)
"""

_MOST_SHOWN = 200
"""Characters of what somebody wrote, which goes into reasons, logs and answers."""


class ShuntyardError(Exception):
    """Every error of ours."""


class InputError(ShuntyardError, ValueError):
    """A text that somebody wrote cannot be used.

    Args:
        field: Where it stood, e.g. ``annotation shuntyard.io/max-wait``.
        value: What stood there.
        expected: What was expected, in words.
    """

    def __init__(self, field: str, value: str, expected: str) -> None:
        shown = value if len(value) <= _MOST_SHOWN else f"{value[:_MOST_SHOWN]}…"
        super().__init__(f"{field}: {shown!r} is not {expected}")
        self.field = field
        self.value = value
        self.expected = expected


class QuantityError(InputError):
    """A text is not a Kubernetes quantity."""


class DurationError(InputError):
    """A text is not a Go duration."""


class SettingsError(ShuntyardError):
    """The settings cannot be used; the message names the field and what was expected."""
