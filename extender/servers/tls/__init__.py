"""Certificates of our own: what is kept, what must be made, and how it is made."""
