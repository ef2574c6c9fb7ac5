"""Liu & Talwar 2019, Section 4: thresholds found privately; runs better than the median."""
