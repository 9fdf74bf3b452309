import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError, StateError
from pollwise.relevance.parsed_text import parse_text
from pollwise.relevance.topic import Topic, topic
from pollwise.relevance.topic_filter import TopicFilter

SEA_TEXT = "whale dolphin seal ocean coral reef plankton tide fish harbour krill squid"
LAND_TEXT = """
engine price court letter paper village road music wheat market school bridge window river kitchen
football theatre council tax railway camera garden winter novel museum poet
"""
SEA, LAND = SEA_TEXT.split(), LAND_TEXT.split()
MENU = ["Ocean portal", "Whale watching tours", "Imprint and contact"]


def corpus(generator, pages=300, hosts=6, share=0.1, menu=()):
    """Pages with whether they are about the sea: (host, parsed text, about)."""
    made = []
    for _ in range(pages):
        host = f"site{generator.integers(hosts)}.org"
        about = generator.random() < share
        words = list(generator.choice(LAND, 30))
        if about:
            words[:20] = generator.choice(SEA, 20)
            words[0] = "whales"
        generator.shuffle(words)
        made.append((host, parse_text([*menu, " ".join(words[:10]), " ".join(words[10:])]), about))
    return made


def observed(words, pages):
    relevance = TopicFilter(topic(words))
    for host, page, _ in pages:
        relevance.observe(host, page)
    return relevance


def split(scores, pages):
    about = np.array([about for *_, about in pages])
    return np.array(scores)[about], np.array(scores)[~about]


def test_pages_about_the_topic_stand_out_and_the_rest_has_none():
    pages = corpus(np.random.default_rng(1))
    relevance = observed("whales", pages)
    inside, outside = split([relevance.score(host, page) for host, page, _ in pages], pages)
    assert inside.min() > outside.max()
    assert (outside > 0).mean() < 0.05
    assert inside.max() == 1.0


def test_feedback_finds_pages_without_the_words_of_the_topic():
    pages = corpus(np.random.default_rng(2))
    relevance = observed("whales", pages)
    assert relevance.topic_vector["whale"] ** 2 == pytest.approx(0.5)
    assert sum(w * w for w in relevance.topic_vector.values()) == pytest.approx(1.0)
    assert {"dolphin", "coral", "krill"} < set(relevance.topic_vector)
    assert relevance.score("new.org", parse_text(["Dolphins and krill", "Coral reef, seal."])) > 0.1
    assert relevance.score("new.org", parse_text(["The council pays for the railway."])) == 0.0


ENGLISH_TEXT = "the of and to in is that for it was on with as are be this by from at have"
GERMAN_TEXT = "der die das und ist nicht von mit den zu dem ein eine für auf im sich auch als wird"
BEES_TEXT = "honey comb hive queen swarm pollen nectar wax drone brood"
BIENEN_TEXT = "honig wabe stock königin schwarm pollen nektar wachs drohne brut"
ENGLISH, GERMAN = ENGLISH_TEXT.split(), GERMAN_TEXT.split()
BEES, BIENEN = BEES_TEXT.split(), BIENEN_TEXT.split()


def pages_in_two_languages(generator, german=0.3, share=0.15, pages=400):
    """Pages of the same hosts in English and German: (host, parsed text, about), and which."""
    made, languages = [], []
    for _ in range(pages):
        is_german, about = generator.random() < german, generator.random() < share
        bees, others, small = (BIENEN, "land", GERMAN) if is_german else (BEES, "", ENGLISH)
        words = [f"{word}{others}" for word in generator.choice(LAND, 40)]
        if about:
            words[:15] = generator.choice(bees, 15)
            words[0] = "imkerei" if is_german else "beekeeping"
        words += list(generator.choice(small, 40))
        generator.shuffle(words)
        made.append((f"site{generator.integers(5)}.org", parse_text([" ".join(words)]), about))
        languages.append("de" if is_german else "en")
    return made, np.array(languages)


@pytest.mark.parametrize("german", [0.1, 0.5])
@pytest.mark.parametrize("words", ["imkerei honig beekeeping honey", "beekeeping", "imkerei"])
def test_pages_of_each_language_of_the_topic_are_found(german, words):
    pages, languages = pages_in_two_languages(np.random.default_rng(21), german)
    relevance = observed(words, pages)
    assert [page.language for _, page, _ in pages] == languages.tolist()
    scores = np.array([relevance.score(host, page) for host, page, _ in pages])
    about = np.array([about for *_, about in pages])
    assert (scores[~about] > 0).mean() < 0.03
    for language, word in (("en", "beekeeping"), ("de", "imkerei")):
        found = scores[about & (languages == language)]
        if word in words:
            assert found.mean() > 0.8
        else:
            assert found.max() == 0.0
    assert not {*ENGLISH, *GERMAN} & set(relevance.topic_vector)


def test_a_page_whose_language_is_not_clear_is_taken_for_one_of_the_most_pages():
    pages, _ = pages_in_two_languages(np.random.default_rng(22), german=0.8)
    relevance = observed("imkerei honig beekeeping honey", pages)
    titles = (
        parse_text(["Schwarm, Wachs, Wabe und Brut"]),
        parse_text(["Schwarm, Wachs, Wabe, Brut"]),
    )
    clear = parse_text(["und und und", "Schwarm, Wachs, Wabe, Brut"])
    assert [page.language for page in titles] == ["de", ""]
    assert relevance.score("a", titles[1]) > 0.5
    assert relevance.rescore("a", relevance.pack("a", clear)) == relevance.score("a", clear)
    again = TopicFilter(topic("imkerei honig beekeeping honey"))
    again.load_state_dict(relevance.state_dict())
    assert again.score("a", titles[1]) == relevance.score("a", titles[1])


def test_a_language_that_comes_late_is_learned_before_there_are_a_quarter_more_pages():
    pages, _ = pages_in_two_languages(np.random.default_rng(24), german=0.0)
    relevance = observed("imkerei honig beekeeping honey", pages)
    late, _ = pages_in_two_languages(np.random.default_rng(25), german=1.0, pages=40)
    assert not {"wabe", "nektar"} & set(relevance.topic_vector)
    for host, page, _ in late:
        relevance.observe(host, page)
    assert {"wabe", "nektar"} <= set(relevance.topic_vector)
    again = TopicFilter(topic("imkerei honig beekeeping honey"))
    again.load_state_dict(relevance.state_dict())
    for host, page, _ in pages_in_two_languages(np.random.default_rng(26), pages=100)[0]:
        assert again.observe(host, page) == relevance.observe(host, page)


def of_earlier_version(relevance):
    """The state of a filter with one profile, as versions wrote it that knew no languages."""
    state = relevance.state_dict()
    about, next_vector, version = json.loads(state.pop("filter").tobytes())
    earlier = {name.rpartition(".")[2]: array for name, array in state.items()}
    *numbers, floor, top, _ = earlier["numbers"].tolist()
    *words, _ = json.loads(earlier["words"].tobytes())
    earlier["numbers"] = np.array([*numbers, next_vector, floor, top, version])
    earlier["words"] = np.frombuffer(json.dumps([about, *words]).encode(), np.uint8)
    return earlier


def test_what_a_version_without_languages_learned_goes_on():
    pages = corpus(np.random.default_rng(23))
    relevance = observed("whales", pages)
    again = TopicFilter(topic("whales"))
    again.load_state_dict(of_earlier_version(relevance))
    assert again.version == relevance.version
    of_a_language = parse_text(["The dolphins and the krill of the ocean"])
    for page in (pages[0][1], pages[1][1], of_a_language):
        assert again.observe("a", page) == relevance.observe("a", page)


@pytest.mark.parametrize("german", [0.0, 1.0])
def test_what_was_learned_without_languages_is_of_that_of_the_best_pages(german):
    """The first page afterwards took it over, in whatever language it was."""
    pages, _ = pages_in_two_languages(np.random.default_rng(27), german)
    words = "imkerei honig beekeeping honey"
    again = TopicFilter(topic(words))
    again.load_state_dict(of_earlier_version(observed(words, pages)))
    before = [again.score(host, page) for host, page, _ in pages]
    other, _ = pages_in_two_languages(np.random.default_rng(28), 1 - german, pages=1)
    again.observe(other[0][0], other[0][1])
    assert [again.score(host, page) for host, page, _ in pages] == before


def test_what_was_learned_without_languages_and_without_a_page_is_of_the_first_one():
    again = TopicFilter(topic("whales"))
    again.load_state_dict(of_earlier_version(TopicFilter(topic("whales"))))
    assert again.observe("a", parse_text(["The whale sings to the other whales"])) > 0.5


def test_scores_of_the_first_pages_make_sense():
    pages = corpus(np.random.default_rng(3), pages=60, share=0.3)
    relevance = TopicFilter(topic("whales"))
    inside, outside = split([relevance.observe(host, page) for host, page, _ in pages], pages)
    assert (inside > 0).mean() > 0.9
    assert (outside > 0).mean() < 0.1


def test_a_robot_that_finds_much_of_its_topic_still_tells_it():
    pages = corpus(np.random.default_rng(4), share=0.35)
    relevance = observed("whales", pages)
    inside, outside = split([relevance.score(host, page) for host, page, _ in pages], pages)
    assert (inside > 0).mean() > 0.95
    assert (outside > 0).mean() < 0.05


def test_menus_do_not_fake_relevance():
    pages = corpus(np.random.default_rng(5), hosts=2, menu=MENU)
    relevance = TopicFilter(topic("whales"))
    scores = [relevance.observe(host, page) for host, page, _ in pages]
    _, outside = split(scores[20:], pages[20:])
    assert (outside > 0).mean() < 0.05


def test_a_small_host_about_the_topic_keeps_its_relevance():
    pages = corpus(np.random.default_rng(6))
    relevance = observed("whales", pages)
    for _, page, _ in corpus(np.random.default_rng(7), pages=5, share=1.0):
        assert relevance.observe("whales.org", page) > 0.3


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.sampled_from([*SEA, *LAND, "the", "42"]), max_size=9), max_size=30))
def test_scores_lie_in_0_to_1(texts):
    relevance = TopicFilter(topic("ocean tide"))
    for number, words in enumerate(texts):
        page = parse_text([" ".join(words)])
        assert 0 <= relevance.observe(f"site{number % 3}", page) <= 1
        assert 0 <= relevance.score("elsewhere", page) <= 1
        packed = relevance.pack("elsewhere", page)
        assert relevance.rescore("elsewhere", packed) == relevance.score("elsewhere", page)
    assert relevance.pages == len(texts)


def test_the_order_of_the_pages_hardly_matters_in_the_end():
    pages = corpus(np.random.default_rng(8))
    a, b = observed("whales", pages), observed("whales", pages[::-1])
    scores = np.array([[f.score(host, page) for f in (a, b)] for host, page, _ in pages])
    assert np.abs(scores[:, 0] - scores[:, 1]).mean() < 0.02


def test_scoring_teaches_nothing():
    pages = corpus(np.random.default_rng(9), pages=40)
    relevance = observed("whales", pages)
    before = relevance.state_dict()
    for host, page, _ in pages:
        relevance.score(host, page)
        relevance.pack(host, page)
    after = relevance.state_dict()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_restart_changes_nothing():
    pages = corpus(np.random.default_rng(10), menu=MENU)
    straight = observed("whales", pages[:150])
    again = TopicFilter(topic("whales"))
    again.load_state_dict(straight.state_dict())
    assert again.version == straight.version > 0
    assert again.topic_vector == straight.topic_vector
    for host, page, _ in pages[150:]:
        assert again.observe(host, page) == straight.observe(host, page)


def test_a_fresh_filter_can_be_saved():
    again = TopicFilter(topic("whales"))
    again.load_state_dict(TopicFilter(topic("whales")).state_dict())
    assert again.pages == 0
    assert 0 <= again.observe("a", parse_text(["whales"])) <= 1


def test_a_state_that_does_not_fit():
    state = TopicFilter(topic("whales")).state_dict()
    del state[".buckets"]
    with pytest.raises(StateError, match="does not fit"):
        TopicFilter(topic("whales")).load_state_dict(state)
    with pytest.raises(StateError, match="it is of the topic"):
        TopicFilter(topic("ships")).load_state_dict(TopicFilter(topic("whales")).state_dict())


def test_the_version_grows_with_the_collection_more_and_more_rarely():
    pages = corpus(np.random.default_rng(11), pages=100)
    relevance, versions = TopicFilter(topic("whales")), []
    for host, page, _ in pages:
        relevance.observe(host, page)
        versions.append(relevance.version)
    renewed = np.flatnonzero(np.diff(versions))
    assert (np.diff(renewed)[1:] >= np.diff(renewed)[:-1] - 1).all()
    assert 8 < versions[-1] < 20


def test_examples_make_a_topic():
    pages = corpus(np.random.default_rng(12))
    relevance = TopicFilter(topic(examples=["Whales and dolphins of the ocean.", "Coral reef"]))
    for host, page, _ in pages:
        relevance.observe(host, page)
    inside, outside = split([relevance.score(host, page) for host, page, _ in pages], pages)
    assert np.median(inside) > 0.3
    assert (outside > 0).mean() < 0.1


def test_a_judge_has_the_last_word_and_the_vector_follows_it():
    relevance = TopicFilter(Topic(judge="anything:about_whales"))
    for host, page, about in corpus(np.random.default_rng(13)):
        judged = parse_text([" ".join(page.terms)], judgement=0.75 if about else 0.0)
        assert relevance.observe(host, judged) == (0.75 if about else 0.0)
    assert {"dolphin", "coral"} < set(relevance.topic_vector)
    with pytest.raises(InputError, match="has not judged the page"):
        relevance.score("a", parse_text(["whale"]))
    with pytest.raises(InputError, match="judges texts, not packed terms"):
        relevance.rescore("a", relevance.pack("a", parse_text(["whale"])))


def test_a_page_without_text_is_not_relevant():
    relevance = TopicFilter(topic("whales"))
    assert [relevance.observe("a", parse_text([])) for _ in range(20)] == [0.0] * 20
