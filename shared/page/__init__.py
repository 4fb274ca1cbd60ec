"""The web page that shows the read API: its built files (``page/`` has the sources)."""
