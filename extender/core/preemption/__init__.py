"""Running jobs that are parked: which, and the steps from the request to the return."""
