"""The papers that are reproduced; `docs/reproduction.md` has them in full."""

__all__ = ["EPHEMERAL", "GPOKS", "HTRAA", "LAKG", "ROBOT"]

LAKG = "Granmo, Oommen, Myrer, Olsen 2007"
HTRAA = "Granmo, Oommen 2010"
GPOKS = "Glimsdal 2013"
EPHEMERAL = "Avrachenkov, Borkar 2015"
ROBOT = "O'Meara, Patel 2001"
