"""What several figures share, and what makes figures: records of them, digests, settings."""
