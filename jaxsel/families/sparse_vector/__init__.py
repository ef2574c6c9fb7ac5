"""Sparse vectors: which of many queries lie above a noisy threshold."""
