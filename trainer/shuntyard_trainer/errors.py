"""The tree of errors.

::

    TrainerError
    ├── SettingError     an argument or an environment variable cannot be used
    ├── SaveError        a checkpoint could not be written
    ├── UnloadableError  a checkpoint was written and cannot be loaded
    ├── RanksError       the ranks of one job are not at the same step
    └── StaleCopyError   another copy of this training has begun later
"""


class TrainerError(Exception):
    """Base of all errors of this package."""


class SettingError(TrainerError, ValueError):
    """An argument or an environment variable cannot be used; the message names it."""


class SaveError(TrainerError):
    """A checkpoint could not be written, here or on another rank."""


class UnloadableError(TrainerError):
    """A checkpoint was written and cannot be loaded; requests get it as the error of the save."""


class StaleCopyError(TrainerError, OSError):
    """Another copy of this training has begun later: this one writes nothing more."""


class RanksError(TrainerError):
    """The ranks of one job are not at the same step, so no checkpoint would be whole."""
