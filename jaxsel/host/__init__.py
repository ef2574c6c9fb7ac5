"""The foundations that need no JAX: errors, records, digests, confidence intervals."""
