"""Privacy accounting in float64 on the host: bounds, exact divergences, exact laws.

Base algorithms are made by the factories of ``curves`` (``curves.zcdp(0.1)``), constructed
pairs of base laws by those of ``pairs`` (finite) and ``score_pairs`` (on the line), and
rankings are in ``score_orders``; bounds on tuning and exact divergences are functions here.

What belongs to one kind of mechanism is imported from its room: ``noisy_max``, ``top_k``,
``scores``, ``selection_and_test``, ``sparse_vector``, ``percentile``, ``examples``,
``multiplicative_weights``, ``propose_test_release``.
"""

import importlib
from typing import Any

# Public names by the module that defines them; imported on first use, since families
# import the accounting of single runs and are imported here.
_MODULES = ("curves", "pairs", "score_orders", "score_pairs")
_DEFINED_IN = {
    "accounting.single_run.base_text": "parse_base",
    "accounting.single_run.closed_forms": """
        approximate_profile approximate_tradeoff gaussian_delta gaussian_epsilon
        gaussian_log_delta gaussian_noise_multiplier gaussian_renyi
        gaussian_total_variation gaussian_tradeoff laplace_delta laplace_renyi
        laplace_tradeoff randomised_response_delta randomised_response_renyi
        randomised_response_tradeoff
    """,
    "accounting.single_run.conversions": """
        ApproximateGuarantee Conversion RenyiCurve log_delta_at_order
        mironov_epsilon_at_order monotone optimal_epsilon_at_order renyi_to_delta
        renyi_to_epsilon zcdp_from_pure zcdp_rho zcdp_to_epsilon
    """,
    "accounting.single_run.curves": "BaseGuarantee",
    "accounting.single_run.divergences": """
        epsilon_at_delta exact_epsilon hockey_stick privacy_loss profile_delta
        renyi_divergence total_variation
    """,
    "accounting.single_run.dominating": """
        DominatingPair pair_delta pair_from_laws pair_from_points pair_from_profile
        pair_tradeoff reversed_pair
    """,
    "accounting.single_run.events": "dp_sgd from_event",
    "accounting.single_run.pairs": "LawPair",
    "accounting.single_run.tradeoff": "renyi_tradeoff",
    "families.noisy_max.bounds": """
        noisy_max_chernoff_epsilon noisy_max_delta noisy_max_epsilon noisy_max_guarantee
        noisy_max_renyi noisy_max_sharp_delta noisy_max_sharp_epsilon
    """,
    "families.noisy_max.composition_bounds": """
        composed_pair_epsilon dominated_composition_epsilon noisy_max_composed_delta
        noisy_max_composed_epsilon
    """,
    "families.thresholds.laws": """
        threshold_approximate threshold_approximate_sharp threshold_expected_draws
        threshold_expected_draws_bound threshold_failure_bound threshold_law
        threshold_pure threshold_steps
    """,
    "families.top_k.baselines": """
        exponential_top_k_rho exponential_top_k_scale limited_domain_epsilon
    """,
    "families.top_k.calibration": "calibrate stable_top_k_calibration",
    "families.top_k.curves": """
        approximate_renyi_to_delta approximate_renyi_to_epsilon compose_curves
        fixed_top_k_curve largest_gap_renyi noisy_gap_renyi stable_top_k_curve
    """,
    "families.tuning.accountant": "Account ProvenEpsilon account base_epsilon",
    "families.tuning.attained.adversarial_orders": """
        Adversary adversarial_delta adversarial_epsilon
    """,
    "families.tuning.attained.attained_epsilon": "attained_epsilon",
    "families.tuning.attained.exact_laws": "tuned_index_law tuned_law",
    "families.tuning.attained.exact_profile": """
        exact_tuned_epsilon tuned_delta tuned_profile
    """,
    "families.tuning.attained.finite_adversary": """
        FiniteAdversary finite_adversarial
    """,
    "families.tuning.bounds.approximate": "Thinned thinned",
    "families.tuning.bounds.conditional": """
        conditional_at_exponents conditional_epsilon conditional_part
        fitted_tight_conditional
    """,
    "families.tuning.bounds.envelope": """
        base_envelopes envelope_epsilon envelope_profile
    """,
    "families.tuning.bounds.general_profile": """
        general_hockey_stick general_renyi refined_hockey_stick
    """,
    "families.tuning.bounds.generic": """
        correct_for_no_runs generic_pair_epsilon generic_renyi ratio_supremum
    """,
    "families.tuning.bounds.heterogeneous": """
        CandidateThresholds candidate_thresholds largest_steps
        subsampled_gaussian_profile
    """,
    "families.tuning.bounds.negative_binomial": """
        negative_binomial_epsilon negative_binomial_renyi pure_negative_binomial_epsilon
        zcdp_negative_binomial_renyi
    """,
    "families.tuning.bounds.poisson": "poisson_epsilon poisson_renyi",
    "families.tuning.bounds.profiles": """
        ProfileBound binomial_profile epsilon_at gaussian_negative_binomial_epsilon
        negative_binomial_profile point_negative_binomial point_negative_binomial_sharp
        poisson_profile profile_bounds tradeoff_profile two_point_epsilon
    """,
    "families.tuning.bounds.random_stopping": """
        hard_stop_approximate hard_stop_steps hard_stop_steps_pure percentile_failure
        percentile_failure_bound stopping_law
    """,
    "families.tuning.bounds.renyi": "TunedEpsilon tuned_curves tuned_epsilon",
}
_HOME = {name: home for home, names in _DEFINED_IN.items() for name in names.split()}

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"jaxsel.{_HOME[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"jaxsel.accounting.single_run.{name}")
    raise AttributeError(f"module 'jaxsel.accounting' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
