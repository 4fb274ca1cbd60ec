"""Which calls our programs make at the API server, beside the rights that deploy/base gives them.

kube-apiserver's audit log says who asked for what and whether it was allowed (`audit`); `calls`
reads it, `keeping` keeps what several clusters saw, `granted` reads the roles, and `comparing` says
what is missing and what nobody used.
"""
