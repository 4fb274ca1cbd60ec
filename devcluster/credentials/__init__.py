"""Certificates, kubeconfigs and roles of a cluster."""
