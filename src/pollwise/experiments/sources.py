"""The papers that are reproduced; `docs/reproduction.md` has them in full."""

__all__ = ["GPOKS", "HTRAA", "LAKG"]

LAKG = "Granmo, Oommen, Myrer, Olsen 2007"
HTRAA = "Granmo, Oommen 2010"
GPOKS = "Glimsdal 2013"
