"""The world of the OASiS paper: its workload, and how the policies are run in it."""
