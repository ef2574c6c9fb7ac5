"""Everything that has a public name: mechanisms, claims, errata, remarks, self-checks."""

from jaxsel.catalogue.collect import all_claims as all_claims
from jaxsel.catalogue.collect import find_claim as find_claim
from jaxsel.catalogue.collect import is_self_check as is_self_check
from jaxsel.catalogue.collect import self_checks as self_checks
from jaxsel.language.declared import errata as errata
from jaxsel.language.declared import find_erratum as find_erratum
from jaxsel.language.declared import find_remark as find_remark
from jaxsel.language.declared import published_claims as published_claims
from jaxsel.language.declared import remarks as remarks
from jaxsel.language.subject import find_mechanism as find_mechanism
from jaxsel.language.subject import mechanisms as mechanisms
