"""The choosing mechanism and stable selection (Cohen et al. 2022, Theorems 7 and 8)."""
