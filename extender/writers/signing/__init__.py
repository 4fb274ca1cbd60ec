"""Signatures of what we write for ourselves to read: keys, and what a signature covers."""
