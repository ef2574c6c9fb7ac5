"""Report noisy max: ``bounds``, ``composition``, ``groups`` of equal candidates."""
