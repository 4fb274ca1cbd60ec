"""The programs of a cluster: their versions, and where each is found or how it is built."""
