"""Report noisy max: the candidate with the largest noisy score, once and several times."""
