"""``shuntyard doctor``: check an installation and say how to fix it.

Each check reads with the user's rights and judges what it read; judgements are pure functions.
Nothing is written; what may not be read is reported as not known.
"""
