"""One file a figure: reads records and claims, draws; never simulates.

Run with ``python -m figures``.
"""

from figures import (
    clnss22_adaptive,
    clnss22_choosing,
    clnss22_coin_game,
    clnss22_median,
    clnss22_pmw,
    clnss22_query_release,
    clnss22_repetitions,
    clnss22_sample_complexity,
    clnss22_selection,
    clnss22_stable,
    clnss22_svt_error,
    clnss22_svt_family,
    clnss22_top_k,
    krw24_1,
    krw24_2,
    krw24_3,
    krw24_4,
    krw24_5,
    krw24_6,
    krw24_7,
    krw24_8,
    krw24_beta_binomial,
    krw24_profile,
    krw24_profile_dp_sgd,
    krw24_profile_laplace,
    lt19_decreasing_thresholds,
    lt19_generalisations,
    lt19_hard_stop,
    lt19_oracle_calls,
    lt19_packing,
    lt19_percentile,
    lt19_privacy_cost,
    lt19_selection,
    lt19_utility,
    ps22_1,
    ps22_2,
    ps22_3,
    ps22_4,
    ps22_5,
    ps22_6,
    ps22_7,
    ps22_8,
    zw22_1a,
    zw22_1b,
    zw22_gaps,
    zw22_table1,
    zw22_table2,
)
from figures.common.figure import Figure

__all__ = ["FIGURES", "Figure"]

_MODULES = (
    ps22_1, ps22_2, ps22_3, ps22_4, ps22_5, ps22_6, ps22_7, ps22_8,
    krw24_1, krw24_2, krw24_3, krw24_4, krw24_5, krw24_6, krw24_7, krw24_8,
    krw24_profile, krw24_profile_laplace, krw24_profile_dp_sgd, krw24_beta_binomial,
    zw22_table1, zw22_1a, zw22_1b, zw22_table2, zw22_gaps, lt19_selection,
    lt19_privacy_cost, lt19_hard_stop, lt19_decreasing_thresholds, lt19_packing,
    lt19_percentile, lt19_oracle_calls, lt19_utility, lt19_generalisations,
    clnss22_selection, clnss22_coin_game, clnss22_median, clnss22_query_release,
    clnss22_top_k, clnss22_choosing, clnss22_stable, clnss22_svt_family,
    clnss22_svt_error, clnss22_repetitions, clnss22_pmw, clnss22_sample_complexity,
    clnss22_adaptive,
)  # fmt: skip
FIGURES: dict[str, Figure] = {m.FIGURE.id: m.FIGURE for m in _MODULES}
