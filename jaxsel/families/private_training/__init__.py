"""DP-SGD, and private searches of its settings: what ``jaxsel.training`` runs, judged."""
