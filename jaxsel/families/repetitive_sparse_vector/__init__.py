"""The repetitive sparse vector of Cohen et al. 2022, Algorithm 3, reconstructed."""
