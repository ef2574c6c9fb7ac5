"""What everything stands on that needs no JAX: errors, records, digests, intervals."""
