"""Plans a search from its budget: which noise, which law of K, and what that buys.

Writes `plan.json`, which `PrivateSearch` and `jaxsel report` read.
"""

import json
from pathlib import Path

import jaxsel

plan = jaxsel.plan(
    "dp_sgd:dataset_size=60000,batch_size=600,epochs=60",  # without noise: it is what is planned
    epsilon=3.0,
    delta=1e-6,
    runs=20,  # on average, what the machine allows
    winner="good=0.05",  # how likely is one of the best 5 % found?
)
print(plan)
Path("plan.json").write_text(json.dumps(plan.as_record(), indent=2))
