"""Admission by price: jobs with a utility get a plan over time slots, or wait for a better one."""
