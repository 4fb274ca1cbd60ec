"""SpeCon in the fluid model: jobs, rules, and what comes of them."""
