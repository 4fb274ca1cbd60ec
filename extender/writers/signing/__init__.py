"""Signatures of our own records on objects that others may edit."""
