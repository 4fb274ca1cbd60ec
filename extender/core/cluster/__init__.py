"""The cluster as decisions see it: snapshot, jobs, owners, job specification, reasons."""
