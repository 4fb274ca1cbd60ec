"""The policies that are compared, as schedulers of the cluster model."""
