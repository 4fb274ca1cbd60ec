"""People, agents and nodes that lie, flood or dawdle: refused, and others are served on."""
