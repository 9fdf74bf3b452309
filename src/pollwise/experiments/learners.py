"""The learners that the tables and figures have in common, in the published configurations."""

from pollwise.experiments.scenario import Learner

__all__ = ["BAYES_INDEX", "HTRAA_500", "LAKG", "LAKG_1500", "LAKG_2500", "LAKG_5000"]

BAYES_INDEX = Learner("bayes-index", "bayes-index")
HTRAA_500 = Learner("htraa 500", "htraa", {"resolution": 500})
LAKG_1500 = Learner("lakg 1500/1.3", "lakg", {"resolution": 1500, "exponent": 1.3})
LAKG_2500 = Learner("lakg 2500/1.3", "lakg", {"resolution": 2500, "exponent": 1.3})
LAKG_5000 = Learner("lakg 5000/1.2", "lakg", {"resolution": 5000, "exponent": 1.2})
LAKG = (LAKG_1500, LAKG_2500, LAKG_5000)
"""From the coarsest to the finest."""
