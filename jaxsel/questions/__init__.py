"""What people ask: what tuning costs, what to run, what several releases cost."""
