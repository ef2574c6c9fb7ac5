"""Private tuning: the best of K runs of a base algorithm, and random stopping."""
