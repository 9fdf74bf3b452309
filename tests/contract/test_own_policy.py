"""The policy that the examples show keeps to the contract."""

from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from pollwise.policies.base import Policy
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_policy.py"


def example():
    """The module, though the examples are no package."""
    spec = spec_from_file_location("own_policy", EXAMPLE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestHalving(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return example().Halving()
