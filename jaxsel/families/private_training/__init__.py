"""DP-SGD and private searches of its settings: exact laws and claims for ``jaxsel.training``."""
