"""What our annotations and Migration objects say, and the room they keep."""
