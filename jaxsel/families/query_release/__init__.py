"""Query release whose error never exceeds a bound."""
