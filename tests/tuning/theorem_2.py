"""Theorem 2 of Papernot & Steinke 2022 as it is printed, from two Renyi bounds of the base."""

import math

import numpy as np

from jaxsel import repetitions as laws


def negative_binomial_epsilon(
    order, epsilon, second_order, second_epsilon, eta, gamma, *, tight=False
):
    """The Renyi bound at an order, from those of the base there and at a second order.

    With ``tight`` by the line of the proof before its last inequality.
    """
    b, e = second_order, 0.0 if np.isscalar(second_order) and second_order == 1 else second_epsilon
    mean = laws.truncated_negative_binomial(eta, gamma).mean
    with np.errstate(divide="ignore"):
        if not tight:
            middle = (1 - 1 / b) * e + math.log(1 / gamma) / b
        elif np.isinf(b):
            middle = e
        else:
            middle = np.log1p((1 / gamma - 1) * np.exp((b - 1) * e)) / b
        return epsilon + (1 + eta) * middle + math.log(mean) / (order - 1)
