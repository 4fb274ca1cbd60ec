"""What the experiments about DRS share: jobs that are drawn, schedulers, and what is compared."""
