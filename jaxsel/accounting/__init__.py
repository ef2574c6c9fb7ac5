"""Privacy accounting in float64 on the host: bounds, exact divergences, exact laws.

Base algorithms are made by the factories of ``curves`` (``curves.zcdp(0.1)``), constructed
pairs of base laws by those of ``pairs`` (finite) and ``score_pairs`` (on the line), and
rankings are in ``score_orders``; bounds on tuning and exact divergences are functions here.

What belongs to one kind of mechanism is imported from its room: ``noisy_max``, ``top_k``,
``scores``, ``selection_and_test``, ``sparse_vector``, ``percentile``, ``examples``,
``multiplicative_weights``, ``propose_test_release``.
"""

from jaxsel.accounting.single_run import curves, pairs, score_orders, score_pairs
from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.accounting.single_run.closed_forms import (
    approximate_profile,
    approximate_tradeoff,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_log_delta,
    gaussian_noise_multiplier,
    gaussian_renyi,
    gaussian_total_variation,
    gaussian_tradeoff,
    laplace_delta,
    laplace_renyi,
    laplace_tradeoff,
    randomised_response_delta,
    randomised_response_renyi,
    randomised_response_tradeoff,
)
from jaxsel.accounting.single_run.conversions import (
    ApproximateGuarantee,
    Conversion,
    RenyiCurve,
    log_delta_at_order,
    mironov_epsilon_at_order,
    monotone,
    optimal_epsilon_at_order,
    renyi_to_delta,
    renyi_to_epsilon,
    zcdp_from_pure,
    zcdp_rho,
    zcdp_to_epsilon,
)
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.divergences import (
    epsilon_at_delta,
    exact_epsilon,
    hockey_stick,
    privacy_loss,
    profile_delta,
    renyi_divergence,
    total_variation,
)
from jaxsel.accounting.single_run.dominating import (
    DominatingPair,
    pair_delta,
    pair_from_laws,
    pair_from_points,
    pair_from_profile,
    pair_tradeoff,
    reversed_pair,
)
from jaxsel.accounting.single_run.events import dp_sgd, from_event
from jaxsel.accounting.single_run.pairs import LawPair
from jaxsel.accounting.single_run.tradeoff import renyi_tradeoff
from jaxsel.families.noisy_max.bounds import (
    noisy_max_chernoff_epsilon,
    noisy_max_delta,
    noisy_max_epsilon,
    noisy_max_guarantee,
    noisy_max_renyi,
    noisy_max_sharp_delta,
    noisy_max_sharp_epsilon,
)
from jaxsel.families.noisy_max.composition_bounds import (
    composed_pair_epsilon,
    dominated_composition_epsilon,
    noisy_max_composed_delta,
    noisy_max_composed_epsilon,
)
from jaxsel.families.thresholds.laws import (
    threshold_approximate,
    threshold_approximate_sharp,
    threshold_expected_draws,
    threshold_expected_draws_bound,
    threshold_failure_bound,
    threshold_law,
    threshold_pure,
    threshold_steps,
)
from jaxsel.families.top_k.baselines import (
    exponential_top_k_rho,
    exponential_top_k_scale,
    limited_domain_epsilon,
)
from jaxsel.families.top_k.calibration import calibrate, stable_top_k_calibration
from jaxsel.families.top_k.curves import (
    approximate_renyi_to_delta,
    approximate_renyi_to_epsilon,
    compose_curves,
    fixed_top_k_curve,
    largest_gap_renyi,
    noisy_gap_renyi,
    stable_top_k_curve,
)
from jaxsel.families.tuning.accountant import (
    Account,
    ProvenEpsilon,
    account,
    base_epsilon,
)
from jaxsel.families.tuning.attained.adversarial_orders import (
    Adversary,
    adversarial_delta,
    adversarial_epsilon,
)
from jaxsel.families.tuning.attained.attained_epsilon import attained_epsilon
from jaxsel.families.tuning.attained.exact_laws import tuned_index_law, tuned_law
from jaxsel.families.tuning.attained.exact_profile import (
    exact_tuned_epsilon,
    tuned_delta,
    tuned_profile,
)
from jaxsel.families.tuning.attained.finite_adversary import (
    FiniteAdversary,
    finite_adversarial,
)
from jaxsel.families.tuning.bounds.approximate import (
    Thinned,
    thinned,
)
from jaxsel.families.tuning.bounds.conditional import (
    conditional_at_exponents,
    conditional_epsilon,
    conditional_part,
    fitted_tight_conditional,
)
from jaxsel.families.tuning.bounds.envelope import (
    base_envelopes,
    envelope_epsilon,
    envelope_profile,
)
from jaxsel.families.tuning.bounds.general_profile import (
    general_hockey_stick,
    general_renyi,
    refined_hockey_stick,
)
from jaxsel.families.tuning.bounds.generic import (
    correct_for_no_runs,
    generic_pair_epsilon,
    generic_renyi,
    ratio_supremum,
)
from jaxsel.families.tuning.bounds.heterogeneous import (
    CandidateThresholds,
    candidate_thresholds,
    largest_steps,
    subsampled_gaussian_profile,
)
from jaxsel.families.tuning.bounds.negative_binomial import (
    negative_binomial_epsilon,
    negative_binomial_renyi,
    pure_negative_binomial_epsilon,
    zcdp_negative_binomial_renyi,
)
from jaxsel.families.tuning.bounds.poisson import poisson_epsilon, poisson_renyi
from jaxsel.families.tuning.bounds.profiles import (
    ProfileBound,
    binomial_profile,
    epsilon_at,
    gaussian_negative_binomial_epsilon,
    negative_binomial_profile,
    point_negative_binomial,
    point_negative_binomial_sharp,
    poisson_profile,
    profile_bounds,
    tradeoff_profile,
    two_point_epsilon,
)
from jaxsel.families.tuning.bounds.random_stopping import (
    hard_stop_approximate,
    hard_stop_steps,
    hard_stop_steps_pure,
    percentile_failure,
    percentile_failure_bound,
    stopping_law,
)
from jaxsel.families.tuning.bounds.renyi import (
    TunedEpsilon,
    tuned_curves,
    tuned_epsilon,
)

__all__ = [
    "Account",
    "Adversary",
    "ApproximateGuarantee",
    "BaseGuarantee",
    "CandidateThresholds",
    "Conversion",
    "DominatingPair",
    "FiniteAdversary",
    "LawPair",
    "ProfileBound",
    "ProvenEpsilon",
    "RenyiCurve",
    "Thinned",
    "TunedEpsilon",
    "account",
    "adversarial_delta",
    "adversarial_epsilon",
    "approximate_profile",
    "approximate_renyi_to_delta",
    "approximate_renyi_to_epsilon",
    "approximate_tradeoff",
    "attained_epsilon",
    "base_envelopes",
    "base_epsilon",
    "binomial_profile",
    "calibrate",
    "candidate_thresholds",
    "compose_curves",
    "composed_pair_epsilon",
    "conditional_at_exponents",
    "conditional_epsilon",
    "conditional_part",
    "correct_for_no_runs",
    "curves",
    "dominated_composition_epsilon",
    "dp_sgd",
    "envelope_epsilon",
    "envelope_profile",
    "epsilon_at",
    "epsilon_at_delta",
    "exact_epsilon",
    "exact_tuned_epsilon",
    "exponential_top_k_rho",
    "exponential_top_k_scale",
    "finite_adversarial",
    "fitted_tight_conditional",
    "fixed_top_k_curve",
    "from_event",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_log_delta",
    "gaussian_negative_binomial_epsilon",
    "gaussian_noise_multiplier",
    "gaussian_renyi",
    "gaussian_total_variation",
    "gaussian_tradeoff",
    "general_hockey_stick",
    "general_renyi",
    "generic_pair_epsilon",
    "generic_renyi",
    "hard_stop_approximate",
    "hard_stop_steps",
    "hard_stop_steps_pure",
    "hockey_stick",
    "laplace_delta",
    "laplace_renyi",
    "laplace_tradeoff",
    "largest_gap_renyi",
    "largest_steps",
    "limited_domain_epsilon",
    "log_delta_at_order",
    "mironov_epsilon_at_order",
    "monotone",
    "negative_binomial_epsilon",
    "negative_binomial_profile",
    "negative_binomial_renyi",
    "noisy_gap_renyi",
    "noisy_max_chernoff_epsilon",
    "noisy_max_composed_delta",
    "noisy_max_composed_epsilon",
    "noisy_max_delta",
    "noisy_max_epsilon",
    "noisy_max_guarantee",
    "noisy_max_renyi",
    "noisy_max_sharp_delta",
    "noisy_max_sharp_epsilon",
    "optimal_epsilon_at_order",
    "pair_delta",
    "pair_from_laws",
    "pair_from_points",
    "pair_from_profile",
    "pair_tradeoff",
    "pairs",
    "parse_base",
    "percentile_failure",
    "percentile_failure_bound",
    "point_negative_binomial",
    "point_negative_binomial_sharp",
    "poisson_epsilon",
    "poisson_profile",
    "poisson_renyi",
    "privacy_loss",
    "profile_bounds",
    "profile_delta",
    "pure_negative_binomial_epsilon",
    "randomised_response_delta",
    "randomised_response_renyi",
    "randomised_response_tradeoff",
    "ratio_supremum",
    "refined_hockey_stick",
    "renyi_divergence",
    "renyi_to_delta",
    "renyi_to_epsilon",
    "renyi_tradeoff",
    "reversed_pair",
    "score_orders",
    "score_pairs",
    "stable_top_k_calibration",
    "stable_top_k_curve",
    "stopping_law",
    "subsampled_gaussian_profile",
    "thinned",
    "threshold_approximate",
    "threshold_approximate_sharp",
    "threshold_expected_draws",
    "threshold_expected_draws_bound",
    "threshold_failure_bound",
    "threshold_law",
    "threshold_pure",
    "threshold_steps",
    "total_variation",
    "tradeoff_profile",
    "tuned_curves",
    "tuned_delta",
    "tuned_epsilon",
    "tuned_index_law",
    "tuned_law",
    "tuned_profile",
    "two_point_epsilon",
    "zcdp_from_pure",
    "zcdp_negative_binomial_renyi",
    "zcdp_rho",
    "zcdp_to_epsilon",
]
