"""Image sets for private training, from disk or downloaded, with checksums."""
