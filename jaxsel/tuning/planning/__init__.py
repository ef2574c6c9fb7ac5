"""What to run for a budget: the noise of one run, and the law of K."""
