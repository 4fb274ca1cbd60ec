"""Placement of whole gangs on a node table."""
