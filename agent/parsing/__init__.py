"""Formats of training logs: text or bytes in, points out. One module a format, strict."""
