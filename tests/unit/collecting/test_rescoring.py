"""What a sweep of new scores may do to a collection."""

from pollwise.collecting.rescoring import Sweep


def swept(before, now):
    sweep = Sweep()
    return sweep, [sweep.settled(*pair) for pair in zip(before, now, strict=True)]


def test_one_sweep_cannot_take_four_fifths_of_a_collection():
    before = [0.8] * 500
    sweep, after = swept(before, [0.0] * 400 + [0.7] * 100)
    kept = sum(relevance > 0 for relevance in after)
    assert kept >= 0.85 * len(before)
    assert set(after) == {0.0, 0.4, 0.7}
    assert (sweep.dropped, sweep.halved) == (500 - kept, kept - 100)


def test_what_every_sweep_finds_irrelevant_is_dropped_in_the_end():
    relevances = [0.9] * 200
    kept = []
    while any(relevances):
        relevances = swept(relevances, [0.0] * 200)[1]
        kept.append(sum(relevance > 0 for relevance in relevances))
    assert len(kept) > 4
    assert kept[1] > 0.7 * 200


def test_a_few_documents_are_dropped_at_once_and_scores_move_freely():
    sweep, after = swept([0.5] * 100, [0.0] * 5 + [0.2] * 95)
    assert sweep.halved < 5
    assert after[-1] == 0.2
    assert swept([0.0, 0.0, 0.3], [0.0, 0.4, 0.9])[1] == [0.0, 0.4, 0.9]


def test_a_sweep_that_changes_more_than_a_tenth_is_told_of_in_one_line():
    sweep, _ = swept([0.0] * 60 + [0.5] * 40, [0.3] * 20 + [0.0] * 40 + [0.5] * 40)
    assert sweep.told() == (
        "the topic is known better: of 100 documents scored anew 20 became relevant,"
        " 0 no longer are, and 0 keep half their relevance"
    )
    assert swept([0.0] * 100, [0.3] * 10 + [0.0] * 90)[0].told() is None
    assert swept([0.0] * 20, [0.3] * 20)[0].told() is None, "first scores move"
    assert Sweep().told() is None
