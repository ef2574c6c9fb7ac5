"""DP-SGD on a small convolutional network, and private tuning of it."""
