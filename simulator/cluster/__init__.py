"""Jobs on nodes: the store and the engine of the extender, driven by a heap of events."""
