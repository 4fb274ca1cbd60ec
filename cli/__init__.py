"""``shuntyard`` and ``kubectl-shuntyard``: a client of the read API. Imports ``shared`` only."""
