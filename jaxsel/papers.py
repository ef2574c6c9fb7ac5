"""The papers that statements come from, each by its own name.

A classical result stands under the paper that proved it, not under one that cites it.
"""

from jaxsel.statements import Paper

LT = Paper("LT", "Liu & Talwar 2019")
PS = Paper("PS", "Papernot & Steinke 2022")
CL = Paper("CL", "Cohen et al. 2022")
KRW = Paper("KRW", "Koskela, Redberg & Wang 2024")
ZW = Paper("ZW", "Zhu & Wang 2022")
JX = Paper("JX", "jaxsel")
DR = Paper("DR", "Dwork & Roth 2014")
LSL = Paper("LSL", "Lyu, Su & Li 2017")
MS = Paper("MS", "McKenna & Sheldon 2020")
RS = Paper("RS", "Raskhodnikova & Smith 2016")
MT = Paper("MT", "McSherry & Talwar 2007")
NRS = Paper("NRS", "Nissim, Raskhodnikova & Smith 2007")
HR = Paper("HR", "Hardt & Rothblum 2010")
DURFEE = Paper("DuR", "Durfee & Rogers 2019")
CARVALHO = Paper("CWGM", "Carvalho, Wang, Gondara & Miao 2020")
PATE = Paper("PATE", "Papernot et al. 2018")

PAPERS = (
    LT, PS, CL, KRW, ZW, JX, DR, LSL, MS, RS, MT, NRS, HR, DURFEE, CARVALHO, PATE,
)  # fmt: skip


def order(source: str) -> int:
    """Place of a source in the list of papers; sources of no paper come last."""
    for place, paper in enumerate(PAPERS):
        if source.startswith(paper.citation):
            return place
    return len(PAPERS)
