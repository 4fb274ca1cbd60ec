"""Whether new pods get our scheduling gate."""
