"""Private linear regression: posterior sampling, its baselines, and their tuning."""
