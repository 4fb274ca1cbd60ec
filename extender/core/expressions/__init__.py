"""Expressions of the Common Expression Language (CEL) in selectors of devices."""
