"""Selection against a threshold, known or falling: draw until a run is good enough."""
