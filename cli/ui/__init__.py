"""``shuntyard ui``: the page on this machine, with the user's own way to the read API."""
