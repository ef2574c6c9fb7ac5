"""Runs seeded trials on devices and reduces them to statistics."""
