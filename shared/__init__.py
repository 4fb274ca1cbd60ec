"""Modules that several of our programs use; they import none of the programs."""
