"""Image sets for private training: found on disk or downloaded, always checked."""
