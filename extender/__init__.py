"""Scheduler extender: a pure core and a store, in a shell of controllers, writers and servers."""
