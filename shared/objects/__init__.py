"""Parts of ``shared.model``, each for some kinds of API objects."""
