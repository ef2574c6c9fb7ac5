"""Audits of functions: what they return is all that is known of them."""
