"""What stops a release."""


class ReleaseError(Exception):
    """A step of a release failed; the message says which and what to do."""
