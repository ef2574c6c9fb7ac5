"""Defaults of ``jaxsel tune``, as text for the command line."""

DATA, EXAMPLES = "digits", 1437
REPETITIONS = "poisson:mean=6"
LEARNING_RATES = "0.025:1:40"
NOISE_MULTIPLIERS = "4"
CLIP_NORMS = "1"
BATCH_SIZES = "256"
EPOCHS = 30.0
DELTA = 1e-5
