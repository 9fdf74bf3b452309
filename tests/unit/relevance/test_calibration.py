import numpy as np

from pollwise.relevance.calibration import calibrated


def test_the_scale_grows_from_0_to_1_without_a_step_at_its_ends():
    heights = np.linspace(-0.5, 1.5, 401)
    relevances = np.array([calibrated(height) for height in heights])
    assert (np.diff(relevances) >= 0).all()
    assert set(relevances[heights <= 0]) == {0.0}
    assert set(relevances[heights >= 1]) == {1.0}
    assert 0 < calibrated(1e-12) < 0.01
    assert 0.99 < calibrated(1 - 1e-12) < 1
