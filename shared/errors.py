"""The root of our error tree.

::

    ShuntyardError
    ├── InputError              an input text is invalid; names field and expectation
    │   ├── QuantityError       a Kubernetes quantity (shared.quantity)
    │   └── DurationError       a Go duration (shared.duration)
    ├── MalformedError          a document (shared.parsing) is malformed or incomplete
    ├── SettingsError           the settings file or environment (shared.settings)
    └── ApiError                an error of the API server (shared.kube.errors)
"""

_MOST_SHOWN = 200
"""Characters of an invalid text that are shown in reasons, logs and responses."""


class ShuntyardError(Exception):
    """Every error of ours."""


class InputError(ShuntyardError, ValueError):
    """An input text is invalid.

    Args:
        field: Where it was, e.g. ``annotation shuntyard.io/max-wait``.
        value: The text.
        expected: What was expected.
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


class MalformedError(ShuntyardError):
    """A document is malformed or incomplete; the message says why."""


class SettingsError(ShuntyardError):
    """The settings cannot be used; the message names the field and what was expected."""
