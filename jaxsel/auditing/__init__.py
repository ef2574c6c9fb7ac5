"""What trials show: lower bounds on the privacy loss, from tallies of two sides."""
