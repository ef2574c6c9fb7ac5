"""What is claimed of DP-SGD and of a search, put to the test on what runs."""
