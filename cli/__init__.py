"""``shuntyard`` and ``kubectl-shuntyard``: people ask the read API. Imports ``shared`` only."""
