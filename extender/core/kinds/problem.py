"""What cannot be used of what people wrote on a job: an error as a value that a job can hold."""

from typing import Self

from msgspec import Struct

from shared.errors import InputError


class Problem(Struct, frozen=True):
    """One label, annotation or field that cannot be used, or several that contradict each other.

    Attributes:
        message: For people: names the field, its value and what is expected.
        field: The field alone, e.g. ``annotation shuntyard.io/max-wait``; empty where the problem
            is not one of a single field.
        value: What the field holds.
        expected: What is expected instead.
    """

    message: str
    field: str = ""
    value: str = ""
    expected: str = ""

    @classmethod
    def of(cls, error: InputError) -> Self:
        """Return the problem that an error reports."""
        return cls(str(error), error.field, error.value, error.expected)

    def error(self) -> InputError:
        """Return the error again, for callers that raise it."""
        return InputError(self.field, self.value, self.expected)
