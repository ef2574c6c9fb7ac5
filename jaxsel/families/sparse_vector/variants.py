"""The six sparse vectors that Lyu, Su & Li 2017 compare in their Figure 1."""

from jaxsel.families.sparse_vector import variant_settings as variants
from jaxsel.families.sparse_vector.bounds import lyu_su_li_noise
from jaxsel.families.sparse_vector.parameters import Changes, Cutoff, Epsilon, Event, Method
from jaxsel.families.sparse_vector.runs import read_runs
from jaxsel.families.sparse_vector.sparse import rewritten, scales, sparse_vector
from jaxsel.families.sparse_vector.variant_settings import Variant
from jaxsel.host.errors import check_params
from jaxsel.language.base import Mechanism, Relation, factory
from jaxsel.language.signature import read_params


def _variant(variant: Variant, redrawn: bool, event: str, method: str) -> Mechanism:
    """The mechanism of one variant, whose parameters are epsilon and cutoff instead of scales."""
    kept = ("threshold", *(("edges",) if variant.releases_values else ()))
    core = sparse_vector(
        redrawn=redrawn, releases_values=variant.releases_values, event=event, method=method
    )

    def params_of(data, params):
        read = read_params(params, {"epsilon": Epsilon}, {"cutoff": Cutoff} | dict.fromkeys(kept))
        queries = int(read_runs(data, params.get("threshold", 0.0)).lengths.sum())
        chosen = variant.design(read["epsilon"], read.get("cutoff", 1), queries)
        return scales(chosen) | {name: params[name] for name in kept if name in params}

    return rewritten(core, params_of)


@factory
def lyu_su_li(
    *, relation: Changes = "general", event: Event = "pattern", method: Method = "jump"
) -> Mechanism:
    """Algorithm 1 of Lyu, Su & Li 2017, with any share of epsilon: the threshold gets noise once.

    The threshold's noise is Lap(1/epsilon_1), and that of queries Lap(2c/epsilon_2), or
    Lap(c/epsilon_2) if epsilon is meant for monotone neighbours.

    Args:
      relation: of the neighbours that epsilon is meant for, "general" or "monotone".
      event, method: as for ``sparse_vector``.

    Data: as for ``above_threshold``.
    Params: "epsilon"; "cutoff" (c, default 1); "share" (epsilon_1/epsilon, default 1/2);
      "threshold" (default 0).

    Formal guarantees (claims): SVT-LSL-Alg1, SVT-LSL-Alg1-monotone.
    """
    core = sparse_vector(event=event, method=method)

    def params_of(data, params):
        del data
        check_params(params, ("epsilon",), ("cutoff", "share", "threshold"))
        given = {name: params[name] for name in params if name != "threshold"}
        chosen = lyu_su_li_noise(**{"cutoff": 1} | given, relation=Relation(relation))
        return scales(chosen) | {"threshold": params.get("threshold", 0.0)}

    return rewritten(core, params_of)


@factory
def dwork_roth(*, event: Event = "pattern", method: Method = "jump") -> Mechanism:
    """Algorithm 2 (Dwork & Roth 2014): the threshold's noise is drawn anew after each "above".

    Lap(2c/epsilon) on the threshold, Lap(4c/epsilon) on queries: the algorithm ``sparse``.

    Data and params: as for ``lyu_su_li``, without "share".

    Formal guarantees (claims): SVT-LSL-Alg2.
    """
    return _variant(variants.DWORK_ROTH, True, event, method)


@factory
def roth(*, event: Event = "pattern", method: Method = "jump") -> Mechanism:
    """Algorithm 3 (Roth 2011): releases the noisy answers that were above. BROKEN.

    Lap(2/epsilon) on the threshold, Lap(2c/epsilon) on queries.

    Data and params: as for ``dwork_roth``, and "edges" (see ``sparse_vector``).

    Formal guarantees: none, see claims SVT-LSL-Alg3-printed and SVT-LSL-Alg3-growth.
    """
    return _variant(variants.ROTH, False, event, method)


@factory
def lee_clifton(*, event: Event = "pattern", method: Method = "jump") -> Mechanism:
    """Algorithm 4 (Lee & Clifton 2014): query noise does not grow with c. BROKEN.

    Lap(4/epsilon) on the threshold, Lap(4/(3 epsilon)) on queries.

    Data and params: as for ``dwork_roth``.

    Formal guarantees (claims): (1 + 6c)/4 epsilon in place of epsilon, SVT-LSL-Alg4;
    (1 + 3c)/4 epsilon for monotone neighbours, SVT-LSL-Alg4-monotone.
    """
    return _variant(variants.LEE_CLIFTON, False, event, method)


@factory
def stoddard(*, event: Event = "pattern", method: Method = "jump") -> Mechanism:
    """Algorithm 5 (Stoddard et al. 2014): no noise on queries, no limit on "above". BROKEN.

    Lap(2/epsilon) on the threshold, once.

    Data and params: as for ``dwork_roth``; "cutoff" is of no effect.

    Formal guarantees: none, see claims SVT-LSL-Alg5-printed and SVT-LSL-Alg5-infinite.
    """
    return _variant(variants.STODDARD, False, event, method)


@factory
def chen(*, event: Event = "pattern", method: Method = "jump") -> Mechanism:
    """Algorithm 6 (Chen et al. 2015): no limit on the number of "above". BROKEN.

    Lap(2/epsilon) on the threshold and on queries.

    Data and params: as for ``dwork_roth``; "cutoff" is of no effect.

    Formal guarantees: none, see claims SVT-LSL-Alg6-printed and SVT-LSL-Alg6-growth.
    """
    return _variant(variants.CHEN, False, event, method)
