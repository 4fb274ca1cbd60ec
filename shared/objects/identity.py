"""Types of names, so that they are not confused. Used through ``shared.model``."""

from typing import NewType

NodeName = NewType("NodeName", str)
PodKey = NewType("PodKey", str)
"""``namespace/name``."""
JobKey = NewType("JobKey", str)
"""``namespace/kind/name``; kind is the adapter's name, so that two kinds never share a key."""
Uid = NewType("Uid", str)
