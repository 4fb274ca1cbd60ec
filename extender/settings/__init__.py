"""Settings of the extender: one YAML file, a module for each topic (docs/reference/settings.md)."""
