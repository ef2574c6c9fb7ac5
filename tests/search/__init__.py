"""Private searches of anybody's training."""
