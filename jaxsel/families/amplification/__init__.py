"""Private amplification: selection among private scores, with dummies."""
