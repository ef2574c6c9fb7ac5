"""Selection and Test: private selection with an object that keeps a state."""
