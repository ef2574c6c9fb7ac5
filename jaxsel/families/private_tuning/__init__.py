"""Private tuning: the best of K runs of a base algorithm; random stopping is a special case."""
