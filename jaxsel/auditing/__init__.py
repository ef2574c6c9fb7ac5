"""Privacy audits: lower bounds on the privacy loss from simulated trials."""
