from jaxsel.families.tuning.claims.profile_cases import describe_pair  # noqa
