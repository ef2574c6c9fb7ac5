"""The papers that statements come from, each by its own name.

A classical result stands under the paper that proved it, not under one that cites it.
"""

from jaxsel.host.errors import InputError
from jaxsel.language.domains import nearest
from jaxsel.language.statements import Paper

LT = Paper("LT", "Liu & Talwar 2019")
PS = Paper("PS", "Papernot & Steinke 2022")
CL = Paper("CL", "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022")
KRW = Paper("KRW", "Koskela, Redberg & Wang 2024")
ZW = Paper("ZW", "Zhu & Wang 2022")
JX = Paper("JX", "this project")
BW = Paper("BW", "Balle & Wang 2018")
CARVALHO = Paper("TS", "Carvalho, Wang, Gondara & Miao 2020")
CHEN = Paper("Chen", "Chen et al. 2015")
CMS = Paper("CMS", "Chaudhuri, Monteleoni & Sarwate 2011")
DR = Paper("DR", "Dwork & Roth 2014")
DURFEE = Paper("LD", "Durfee & Rogers 2019")
HR = Paper("HR", "Hardt & Rothblum 2010")
LBP = Paper("LBP", "Lantz, Boyd & Page 2015")
LEE = Paper("Lee", "Lee & Clifton 2014")
LSL = Paper("LSL", "Lyu, Su & Li 2017")
MS = Paper("MS", "McKenna & Sheldon 2020")
MT = Paper("MT", "McSherry & Talwar 2007")
NRS = Paper("NRS", "Nissim, Raskhodnikova & Smith 2007")
PATE = Paper("PATE", "Papernot et al. 2018")
ROGERS = Paper("RogS", "Rogers & Steinke 2021")
ROTH = Paper("Roth", "Roth 2011")
RS = Paper("RS", "Raskhodnikova & Smith 2016")
ST = Paper("ST", "Smith & Thakurta 2013")
STODDARD = Paper("Stoddard", "Stoddard et al. 2014")
WANG = Paper("Wang", "Wang 2018")
FOLKLORE = Paper("Folklore", "folklore")

# In the order of their definitions above, in which every list shows them.
PAPERS = tuple(each for each in [*globals().values()] if isinstance(each, Paper))


# How some sources cite the same paper.
_SHORT = {"Cohen et al. 2022": CL}


def paper_of(source: str) -> Paper | None:
    """The paper that a claim or an erratum comes from: the first that ``source`` names."""
    places = {
        source.find(citation): paper
        for citation, paper in {**{p.citation: p for p in PAPERS}, **_SHORT}.items()
        if citation in source
    }
    return places[min(places)] if places else None


def find_paper(name: str) -> Paper:
    """The paper of that key, upper or lower case.

    Raises:
      InputError: if there is none.
    """
    for paper in PAPERS:
        if paper.key.lower() == name.lower():
            return paper
    keys = [paper.key for paper in PAPERS]
    raise InputError(
        f"there is no paper {name!r}{nearest(name, keys)} (there are: {', '.join(keys)})"
    )


def order(source: str) -> int:
    """Place of a source in the list of papers; sources of no paper come last."""
    paper = paper_of(source)
    return len(PAPERS) if paper is None else PAPERS.index(paper)
