"""How answers of the read API look on a terminal: tables, details, charts."""
