"""Certificates: parsed, issued, kept in a Secret, and used by the listeners."""
