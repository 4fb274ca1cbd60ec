"""One module for each table or figure of a paper; ``registry`` knows their names."""
