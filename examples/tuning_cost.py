"""States what tuning cost, when the best of many private runs is released.

Change the two texts to your setting: `jaxsel list bases` and `jaxsel list repetitions` name all
forms. Writes `report/`, with LaTeX, Markdown and a page.
"""

import jaxsel

ONE_RUN = "dp_sgd:dataset_size=60000,batch_size=256,noise_multiplier=1.1,epochs=60"
LAW_OF_K = "geometric:mean=20"  # how the number of runs was drawn, before the search
DELTA = 1e-6

search = jaxsel.search_cost(ONE_RUN, LAW_OF_K)
print(f"one run:           epsilon {jaxsel.release(ONE_RUN).epsilon(DELTA):.4g}")
print(f"the best of K:     epsilon {search.epsilon(DELTA):.4g}")
print(f"two such searches: epsilon {(search * 2).epsilon(DELTA):.4g}")
print(f"an attacker's advantage over a guess: {search.advantage():.3f}")
jaxsel.report(search.cost(DELTA)).write("report")
