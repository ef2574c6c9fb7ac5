"""Limited-domain top-k (Durfee & Rogers 2019): only the largest counts compete."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxsel.families.top_k import parameters, release
from jaxsel.families.top_k.baseline_laws import check_domain, limited_domain_law
from jaxsel.families.top_k.baselines import limited_domain_threshold
from jaxsel.families.top_k.order_statistics import largest
from jaxsel.families.top_k.parameters import AnyEpsilon, K, Restriction
from jaxsel.families.top_k.recall import Groups, group_counts, hit_law
from jaxsel.kernel import noise as noises
from jaxsel.kernel import stream
from jaxsel.language.base import Mechanism, factory
from jaxsel.language.signature import read_params

_STOP_TAG = 0xB2


class _Settings(NamedTuple):
    ranking: release.Ranking
    epsilon: float
    delta: float
    domain: int

    @property
    def stop(self) -> float:
        """The count of the element "nothing more", without noise."""
        counts = self.ranking.counts
        after = counts[self.domain] if self.domain < counts.size else 0.0
        return float(after + limited_domain_threshold(self.epsilon, self.delta, self.domain))


@factory
def limited_domain(
    *, events: parameters.Events = "hits", precision: parameters.Precision = "tail"
) -> Mechanism:
    """Releases those of the k largest noisy counts that exceed a noisy threshold.

    The k-bar largest counts get Gumbel noise of scale 1/epsilon, and so does the threshold, which
    is count number k-bar + 1 plus 1 + log(k-bar/delta)/epsilon. The candidates above it, at most
    k, are released (Durfee & Rogers 2019). A trial costs k-bar + 1 draws.

    Args:
      events: "hits", or "sets" for audits of small histograms.
      precision: of the draws: "tail" or "float64".

    Data: a histogram, and which candidates are hits, see ``release.rank_histogram``.
    Params: "k"; "epsilon" (per pick); "delta"; optionally "domain" (k-bar, default k).
    Outcome: Release; the size may be below k, and is 0 if no count exceeds the threshold.

    Formal guarantees (claims): BASE-LD.
    """
    dtype = np.float64 if precision == "float64" else np.float32
    required = {"k": K, "epsilon": AnyEpsilon, "delta": Restriction}

    def checked(data, params: Any) -> _Settings:
        read = read_params(params, required, {"domain": parameters.DomainSize})
        ranking = release.rank_histogram(data, read["k"])
        domain = read.get("domain", ranking.k)
        check_domain(ranking.counts.size, ranking.k, domain)
        parameters.check_noise_scale(1.0 / read["epsilon"])
        return _Settings(ranking, read["epsilon"], read["delta"], domain)

    def prepare(settings: _Settings):
        ranking, domain = settings.ranking, settings.domain
        # Relative to count number k, near which float32 must be most accurate.
        middle = ranking.counts[ranking.k - 1]
        levels = (ranking.counts[:domain] - middle) * settings.epsilon
        return {
            "levels": levels.astype(dtype),
            "wanted": ranking.wanted[:domain],
            "codes": release.mask_codes(ranking, events)[:domain],
            "stop": dtype((settings.stop - middle) * settings.epsilon),
        }, {"k": np.int32(ranking.k)}

    def sample(key: stream.Key, data, params) -> release.Release:
        levels = jnp.asarray(data["levels"])
        stop_noise = noises.number(stream.fold(key, _STOP_TAG), 0, precision)
        stop = jnp.asarray(data["stop"]) + noises.gumbel(stop_noise)
        draws = jnp.arange(levels.shape[0], dtype=jnp.uint32)
        noisy = levels + noises.each_variate("gumbel", key, draws, precision)
        chosen = largest(noisy, jnp.asarray(params["k"]), noisy > stop)
        return release.from_mask(chosen, jnp.sum(chosen, dtype=jnp.int32), data, events)

    def law_of_sets(settings: _Settings) -> np.ndarray:
        ranking, epsilon, delta, domain = settings
        return limited_domain_law(ranking.histogram, ranking.k, epsilon, delta, domain)

    def law_of_hits(settings: _Settings) -> np.ndarray:
        ranking, domain = settings.ranking, settings.domain
        groups = group_counts(ranking.counts[:domain], ranking.wanted[:domain])
        if domain == ranking.k:
            # If all candidates compete, one more that never arrives does not change the
            # law.
            never = ranking.counts[0] - 600.0 / settings.epsilon
            groups = Groups(
                np.append(groups.counts, never),
                np.append(groups.sizes, 1),
                np.append(groups.relevant, False),
            )
        return hit_law(groups, ranking.k, 1.0 / settings.epsilon, stop=settings.stop)

    return release.top_k_mechanism(
        checked, prepare, sample, law_of_hits, law_of_sets, events=events, precision=precision
    )
