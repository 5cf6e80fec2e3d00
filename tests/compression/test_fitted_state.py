"""What a fit leaves behind stays as it is, whatever is done with the estimator afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from cflengine import CompressionSession, CompressiveFeatures, GuidedSettings, RelaySettings, load_model, save_model
from cflengine.compression.export import lam_folders
from cflengine.compression.model.corpus import PreparedCorpus
from cflengine.text import DEFAULT_TOKEN_PATTERN

A = ["the cat sat on the mat", "the cat sat on the dog", "a dog and the cat"] * 5
B = ["one two three four", "one two five", "three four one two"] * 3


def state(model) -> list:
    result = model.result_
    return [result.cover.tobytes(), result.objective, model.grams_, model.index_.n_grams, len(model.table_.vocabulary)]


def test_a_path_of_another_corpus_leaves_the_fit_alone():
    model = CompressiveFeatures().fit(A)
    before = state(model)
    path = model.path(B, [0.3, 1.0])
    assert state(model) == before and model.transform(A).shape[0] == len(A)
    words = path.model(1.0).grams_
    model.fit(A)
    assert path.model(1.0).grams_ == words and path.corpus.table.n_documents == len(B)
    assert {word for gram in words for word in gram} <= {"one", "two", "three", "four", "five"}


def test_an_interrupted_refit_changes_nothing():
    class Fails:
        def __call__(self, stats):
            raise RuntimeError("no more")

    model = CompressiveFeatures().fit(A)
    before = state(model)
    model.set_params(listeners=(Fails(),))
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(B)
    assert state(model) == before and isinstance(model.corpus_, PreparedCorpus)
    with pytest.raises(AttributeError):
        model.corpus_.table = None


@pytest.mark.parametrize("loaded", [False, True])
def test_parameters_that_are_set_later_wait_for_the_next_fit(loaded, tmp_path):
    """What was learnt, and how texts are cut; how features are counted and weighted may be set anew."""
    model = CompressiveFeatures(lam=0.3, sentence_borders=True).fit(A)
    if loaded:
        save_model(model, tmp_path / "before.cflm")
        model = load_model(tmp_path / "before.cflm")
    texts = [text.title() + ". The End" for text in A]
    before, words = model.transform(texts).toarray(), model.decode(model.encode(texts))
    model.set_params(token_pattern="x", lowercase=False, sentence_borders=False, lam=2.0, plain_cost=3.0, max_gram=1)
    np.testing.assert_array_equal(model.transform(texts).toarray(), before)
    assert model.decode(model.encode(texts)) == words and model.places(texts).max() >= 0
    save_model(model, tmp_path / "after.cflm")
    again = load_model(tmp_path / "after.cflm")
    np.testing.assert_array_equal(again.transform(texts).toarray(), before)
    assert (again.lam, again.max_gram, again.plain_cost, again.token_pattern) == (0.3, 3, None, DEFAULT_TOKEN_PATTERN)
    model.set_params(weighting="idf")
    assert (model.transform(texts).toarray() != before).any()
    save_model(model, tmp_path / "weighted.cflm")
    weighted = load_model(tmp_path / "weighted.cflm")
    np.testing.assert_array_equal(weighted.transform(texts).toarray(), model.transform(texts).toarray())


def test_a_session_keeps_its_corpus():
    model = CompressiveFeatures().fit(A)
    session = CompressionSession(model)
    model.fit(B)
    solved = session.solve(0.5)
    assert solved.table_.n_documents == len(A) and solved.result_.digest == session.corpus.digest


def test_lam_means_nothing_where_pointers_have_costs_of_their_own():
    n = CompressiveFeatures().fit(A).index_.n_tokens
    model = CompressiveFeatures(pointer_cost=np.full((3, n), 0.5)).fit(A)
    session = CompressionSession(model)
    with pytest.raises(ValueError, match="mean nothing"):
        session.solve(2.0)
    assert session.solve().result_.objective == pytest.approx(model.result_.objective, rel=1e-2)


def test_random_state_is_the_seed():
    seeds = [CompressiveFeatures(random_state=seed).fit(A).result_.settings["random_state"] for seed in (0, 7)]
    assert seeds == [0, 7]
    relay = CompressiveFeatures(solver="relay", random_state=7).fit(A).result_
    assert relay.settings["random_state"] == 7 and RelaySettings(random_state=7).second.random_state == 7
    drawn = {CompressiveFeatures(random_state=None).fit(A).result_.settings["random_state"] for _ in range(3)}
    assert len(drawn) == 3
    generator = [CompressiveFeatures(random_state=np.random.RandomState(3)).fit(A).result_.settings for _ in range(2)]
    assert generator[0]["random_state"] == generator[1]["random_state"]
    settings = GuidedSettings(random_state=5)
    assert CompressiveFeatures(random_state=1, settings=settings).fit(A).result_.settings["random_state"] == 5
    path = CompressiveFeatures(random_state=7).path(A, [0.3, 1.0])
    assert {path.model(lam).result_.settings["random_state"] for lam in path.lams} == {7}
    with pytest.raises(ValueError, match=r"[Ss]eed"):
        CompressiveFeatures(random_state=-1).fit(A)


def test_the_homotopy_before_the_guided_solver_needs_a_gap_to_end():
    with pytest.raises(ValueError, match="tol must be a number"):
        RelaySettings(tol=None)


def test_what_is_drawn_is_drawn_by_the_seed():
    """Where a short search ends depends on it, and on nothing else."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), 30)) for _ in range(60)]
    short = {"relaxation_iterations": 20, "annealings": 1, "anneal_rounds": 1, "patience": 1, "branching": False}

    def cover(seed: int) -> bytes:
        settings = GuidedSettings(tol=0.0, random_state=seed, **short)
        return CompressiveFeatures(2.0, 4, settings=settings).fit(texts).result_.cover.tobytes()

    found = [cover(seed) for seed in (0, 1, 2, 3)]
    assert len(set(found)) > 1 and cover(2) == found[2]


@pytest.mark.parametrize("kind", [np.int8, np.int64, int])
def test_any_whole_number_is_a_length(kind):
    assert CompressiveFeatures(max_gram=kind(3)).fit(A).index_.max_gram == 3


def test_every_lam_of_a_path_is_found_and_has_a_folder_of_its_own():
    lams = [0.0, 1e-4, 5e-4, 0.5, 1.0, 1.0000001]
    path = CompressiveFeatures().path(A, lams)
    assert [path.model(lam).lam for lam in path.lams] == path.lams == lams
    assert path.model(1e-9).lam == 0.0 and path.model(2e-4).lam == 1e-4 and path.model(50.0).lam == 1.0000001
    names = lam_folders(path.lams)
    assert len(set(names)) == len(lams) and names[3] == "lam-0.5"
    assert lam_folders([0.1, 0.3]) == ["lam-0.1", "lam-0.3"]


@pytest.mark.parametrize(
    ("solver", "factor"),
    [("sharded", 1e-9), ("sharded", 1e9)]
    + [
        (solver, factor)
        for solver in ("guided", "homotopy", "reweighting", "relay", "exact")
        for factor in (1e-9, 1e-3, 0.1, 7.3, 1e5, 1e9)
    ],
)
def test_what_costs_are_multiplied_by_changes_no_pointer(solver, factor):
    plain = CompressiveFeatures(solver=solver).fit(A)
    lengths = plain.index_.lengths().astype(np.float64)
    scaled = CompressiveFeatures(
        solver=solver, pointer_cost=np.full(3, 1.0 * factor), dictionary_cost=factor * lengths
    ).fit(A)
    np.testing.assert_array_equal(scaled.result_.cover, plain.result_.cover)
    assert scaled.result_.objective == pytest.approx(factor * plain.result_.objective, rel=1e-12)
    # parts whose prices are exchanged: the bound is theirs, in 32 bits
    within = 1e-7 if solver == "sharded" else 1e-9
    assert scaled.result_.gap == pytest.approx(plain.result_.gap, rel=1e-6, abs=within)
    events, others = scaled.result_.trace, plain.result_.trace
    assert len(events) == len(others)
    np.testing.assert_allclose(events["best_objective"], factor * others["best_objective"], rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1.0, 7.3, 1e5, 1e9])
def test_what_costs_are_multiplied_by_changes_no_proof_by_trees(factor):
    texts = ["c b c a a", "the cat sat on the mat", "y x y z z", "u t u s s"]
    lengths = CompressiveFeatures(max_gram=2).fit(texts).index_.lengths().astype(np.float64)
    costs = {"pointer_cost": np.full(2, factor), "dictionary_cost": factor * lengths}
    result = CompressiveFeatures(max_gram=2, settings=GuidedSettings(tol=0.0), **costs).fit(texts).result_
    assert result.branchings and result.gap < 1e-9


def test_the_homotopys_last_solution_of_every_zeta_is_re_encoded(monkeypatch):
    """A run that is stopped earlier cannot end with more than one that goes on."""
    from cflengine import HomotopySettings

    texts = ["a b c a b d", "c a b e", "a b f g", "f g a b c", "d c a"] * 4
    ends = []
    for last in (0.3, 0.5, 0.7, 0.9, 1.0):
        settings = HomotopySettings(last_zeta=last)
        ends.append(CompressiveFeatures(0.7, solver="homotopy", settings=settings).fit(texts).result_.objective)
    assert ends == sorted(ends, reverse=True)
