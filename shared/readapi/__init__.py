"""Bodies of the read API: what the extender answers, and the command line and the page show."""
