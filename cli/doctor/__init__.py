"""``shuntyard doctor``: is Shuntyard installed as it should be, and how is it mended?

One file a check: it reads, with the rights of whoever asks, and judges. Judgements are functions of
what was read. Nothing is written; what may not be read is said to be not known.
"""
