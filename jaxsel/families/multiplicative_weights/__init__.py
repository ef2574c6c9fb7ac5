"""Private multiplicative weights: answers to many linear queries, and adaptive data analysis."""
