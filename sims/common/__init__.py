"""What the experiments of several figures share: laws of K, bases, tallies."""
