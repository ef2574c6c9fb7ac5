"""Selection and Test: an object that answers adaptive selections and tests."""
