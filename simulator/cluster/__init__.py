"""The cluster model: the extender's store and engine, driven by a heap of events."""
