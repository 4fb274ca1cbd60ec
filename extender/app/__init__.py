"""The extender program: entry point, composition and replay of a kept log."""
