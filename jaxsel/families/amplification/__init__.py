"""Private amplification (Liu & Talwar 2019, Appendix C): selection among scores and dummies."""
