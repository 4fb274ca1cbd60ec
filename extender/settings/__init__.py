"""The settings of the extender: one YAML file, a module a topic (docs/reference/settings.md)."""
