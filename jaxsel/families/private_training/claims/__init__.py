"""Claims on DP-SGD, on searches and on objective perturbation, checked on what runs."""
