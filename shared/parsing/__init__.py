"""Parsers of training logs: text or bytes in, points out. Strict: they never guess."""
