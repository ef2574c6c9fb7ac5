"""How trials run on a device, and what is kept of them."""
