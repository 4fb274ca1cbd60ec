"""API calls of our programs, compared with the rights that deploy/base grants them.

`calls` records calls by kube-apiserver's audit log, `granted` reads the roles and reports missing
and unused rights, `page` prints the rights for the documentation.
"""
