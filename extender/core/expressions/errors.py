"""Why an expression has no result.

::

    ShuntyardError
    └── ExpressionError         an expression has no result
        ├── UnsupportedError        it uses what we do not read, or costs too much
        └── EvaluationError         it is wrong for this device, as in kube-scheduler
"""

from shared.errors import ShuntyardError


class ExpressionError(ShuntyardError):
    """An expression has no result."""


class UnsupportedError(ExpressionError):
    """The expression uses what we do not read, or costs too much; the message says what."""


class EvaluationError(ExpressionError):
    """The expression is wrong for this device: an attribute is missing, or of another type."""
