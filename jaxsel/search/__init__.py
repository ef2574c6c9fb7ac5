"""Private searches of anybody's training: candidates are handed out, only the best is released."""
