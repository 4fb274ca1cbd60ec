"""Values of options, with bounds: what is outside is refused with the option's name."""

import argparse
import math


def count(text: str) -> int:
    """Return a whole number of at least 1; raises ``ArgumentTypeError``."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def positive(text: str) -> float:
    """Return a number above 0; raises ``ArgumentTypeError``."""
    number = _number(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def share(text: str) -> float:
    """Return a number from 0 to 1; raises ``ArgumentTypeError``."""
    number = _number(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
