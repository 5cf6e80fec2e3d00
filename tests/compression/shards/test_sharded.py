"""The sharded solver against the guided one, the whole certificate and the relaxation's optimum."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from cflengine import CompressiveFeatures, GuidedSettings, ShardedSettings
from cflengine.compression.model.certificate import certify
from cflengine.compression.model.parts import PartsCertificate, part_facts
from cflengine.compression.shards.executors import InTurn
from cflengine.compression.shards.solver import solve_sharded
from cflengine.compression.solvers.guided.solver import solve_guided
from cflengine.engine.checks import InputError
from cflengine.engine.memory import MemoryLimitError
from cflengine.engine.output import LOCK, locked_folder
from cflengine.engine.progress import Stopped, TerminationReason, Watch
from cflengine.text.kgrams import KGramIndex, index_kgrams
from cflengine.text.numbering import PASSES
from cflengine.text.shared_grams import cut_into_parts
from naive.corpora import SMALL, costs_by_kind, costs_of, index_of, repeated_phrases, uneven_costs
from naive.programs import certificate_of, solve_exactly, solve_relaxation

QUICK = ShardedSettings(
    tol=0.0, shards=3, in_memory=True, guided=GuidedSettings(annealings=2, relaxation_iterations=150)
)
PHRASES = repeated_phrases(7, 90, 4)


def same(first, second) -> bool:
    """Whether two results are equal to the last bit."""
    numbers = ("objective", "lower_bound", "gap", "n_iterations", "reason")
    return all(getattr(first, name) == getattr(second, name) for name in numbers) and all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in ("cover", "alpha", "dictionary")
    )


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("shards", [2, 5])
def test_what_is_proved_is_proved_of_the_whole(name, shards):
    index = index_of(SMALL[name])
    costs = costs_of(index)
    result = solve_sharded(index, costs, replace(QUICK, shards=shards))
    whole = certificate_of(result, index, costs)
    assert result.objective == whole.objective and whole.covered and result.gap >= 0
    assert result.lower_bound == pytest.approx(whole.lower_bound, rel=1e-12)
    assert (result.n_pointers, result.dictionary_size) == (whole.n_pointers, whole.dictionary_size)
    optimum = solve_relaxation(index, costs).value
    assert result.lower_bound <= (solve_exactly(index, costs) if result.branchings else optimum) * (1 + 1e-7)
    assert result.lower_bound >= 0.985 * optimum
    guided = solve_guided(index, costs, QUICK.unsharded)
    assert result.objective <= 1.02 * guided.objective


def test_every_kind_of_costs():
    index = index_of(PHRASES)
    for name, costs in costs_by_kind(index).items():
        result = solve_sharded(index, costs, QUICK)
        whole = certify(result.cover, result.alpha, index.gram_of, costs)
        assert result.objective == pytest.approx(whole.objective, rel=1e-12), name
        assert result.lower_bound == pytest.approx(whole.lower_bound, rel=1e-9), name
        assert result.lower_bound >= 0.98 * solve_relaxation(index, costs).value, name


def test_it_comes_as_near_as_the_guided_solver():
    index = index_of(repeated_phrases(11, 400, 6))
    costs = costs_of(index)
    settings = ShardedSettings(tol=0.0, shards=4, in_memory=True)
    guided = solve_guided(index, costs, settings.unsharded)
    result = solve_sharded(index, costs, settings)
    assert result.objective <= 1.002 * guided.objective
    assert result.lower_bound >= 0.998 * guided.lower_bound


def test_one_shard_is_the_guided_solver():
    index = index_of(PHRASES)
    costs = uneven_costs(index)
    settings = replace(QUICK, shards=1)
    assert same(solve_sharded(index, costs, settings), solve_guided(index, costs, settings.unsharded))


@pytest.mark.parametrize(("cluster", "where"), [(None, "as a whole"), ("local", "on this machine")])
def test_one_document_is_said_to_be_solved_whole(cluster, where):
    index = index_of([" ".join(PHRASES)])
    with pytest.warns(UserWarning, match=f"one document, which cannot be cut into shards: it is solved {where}"):
        result = solve_sharded(index, costs_of(index), replace(QUICK, cluster=cluster, in_memory=False))
    assert same(result, solve_guided(index, costs_of(index), QUICK.unsharded))


def test_disk_and_threads_change_nothing(tmp_path):
    index = index_of(PHRASES)
    costs = costs_of(index)
    result = solve_sharded(index, costs, QUICK, n_threads=1)
    assert same(result, solve_sharded(index, costs, QUICK, n_threads=2))
    on_disk = replace(QUICK, in_memory=False, scratch=str(tmp_path))
    assert same(result, solve_sharded(index, costs, on_disk))
    assert os.listdir(tmp_path) == []


def test_what_a_killed_run_left_in_the_scratch_folder_goes(tmp_path):
    left, held = tmp_path / "cflengine-shards-left", tmp_path / "cflengine-shards-held"
    for folder in (left, held, tmp_path / "cflengine-shards-without"):
        folder.mkdir()
        (folder / "texts").write_text("of a run")
    (left / LOCK).write_bytes(b"")
    index = index_of(PHRASES)
    costs = costs_of(index)
    with locked_folder(held):
        solve_sharded(index, costs, replace(QUICK, in_memory=False, scratch=str(tmp_path)))
    assert {path.name for path in tmp_path.iterdir()} == {held.name, "cflengine-shards-without"}


def test_a_scratch_folder_that_cannot_be_is_one_sentence(tmp_path):
    index = index_of(PHRASES)
    settings = replace(QUICK, in_memory=False, scratch=str(tmp_path / "none" / "such"))
    with pytest.raises(InputError, match=r"nothing can be kept in .*such: No such file"):
        solve_sharded(index, costs_of(index), settings)


@pytest.mark.parametrize(
    ("lengths", "n_shards", "expected"),
    [
        ([4, 4, 4, 4], 2, [0, 2, 4]),
        ([4, 4, 4, 4], 9, [0, 1, 2, 3, 4]),
        ([100, 1, 1, 1], 4, [0, 1, 4]),
        ([0, 0, 5, 0, 5, 0], 2, [0, 3, 6]),
        ([1, 1, 100], 2, [0, 3]),
        ([7], 3, [0, 1]),
        ([0, 0], 3, [0, 2]),
        ([], 3, [0, 0]),
    ],
)
def test_documents_are_cut_into_shards_of_about_equal_size(lengths, n_shards, expected):
    cuts = cut_into_parts(np.cumsum([0, *lengths]), n_shards)
    if expected == [0, 3]:  # a document larger than a shard: its neighbours may stand with it or alone
        assert cuts[0] == 0 and cuts[-1] == 3 and np.all(np.diff(cuts) > 0)
    else:
        assert cuts.tolist() == expected


@pytest.mark.parametrize("shards", [2, 3, 7])
def test_the_certificate_of_parts_is_that_of_the_whole(shards):
    """Of any cover and any prices, also prices that have to be shrunk."""
    index = index_of(PHRASES)
    rng = np.random.default_rng(3)
    for costs in (costs_of(index), uneven_costs(index)):
        cover = np.ones(index.n_tokens, dtype=np.uint8)
        for scale in (0.03, 1.5):
            alpha = rng.random(index.n_tokens) * scale
            whole = certify(cover, alpha, index.gram_of, costs)
            assert whole.shrink < 1 or scale < 1
            parts = certified_in_parts(index, costs, cover, alpha, shards)
            assert parts.objective == pytest.approx(whole.objective, rel=1e-12) and parts.covered
            assert parts.lower_bound == pytest.approx(whole.lower_bound, rel=1e-9)
            assert (parts.n_pointers, parts.dictionary_size) == (whole.n_pointers, whole.dictionary_size)


def certified_in_parts(index: KGramIndex, costs, cover, alpha, shards):
    """By hand: K-grams that stand in more than one part are found by what the whole index says."""
    cuts = cut_into_parts(index.doc_ptr, shards)
    borders = index.doc_ptr[cuts]
    parts = [np.unique(index.gram_of[:, a:e][index.gram_of[:, a:e] >= 0]) for a, e in pairwise(borders)]
    in_parts = np.bincount(np.concatenate(parts), minlength=index.n_grams)
    shared = np.flatnonzero(in_parts > 1)
    proof = PartsCertificate(costs.dictionary[shared])
    for own, (a, e) in zip(parts, pairwise(borders), strict=True):
        number = np.full(index.n_grams + 1, -1)
        number[own] = np.arange(len(own))
        here = np.flatnonzero(np.isin(own, shared))
        extra = costs.pointer_extra[:, a:e] if costs.pointer_extra.size else costs.pointer_extra
        local = replace(costs, dictionary=costs.dictionary[own], pointer_extra=extra)
        facts = part_facts(cover[a:e], alpha[a:e], number[index.gram_of[:, a:e]], local, here)
        proof.add(facts, np.searchsorted(shared, own[here]))
    return proof.certificate()


def test_a_part_that_charges_something_else_is_refused():
    index = index_of(PHRASES)
    costs = costs_of(index)
    facts = part_facts(
        np.ones(index.n_tokens, dtype=np.uint8), np.zeros(index.n_tokens), index.gram_of, costs, np.array([0, 1])
    )
    with pytest.raises(ValueError, match="costs something else"):
        PartsCertificate(np.array([1.0, 9.0])).add(facts, np.array([0, 1]))


@pytest.mark.parametrize("stop_at", [1, 3, 12, 40, 90, 200, 500])
def test_it_can_be_stopped_at_any_moment(stop_at):
    """Between events, and while shards are at work: what is known is kept, and proved."""

    class Asked:
        questions = 0

        def __call__(self, stats) -> None:
            """Events do not stop it."""

        def poll(self) -> bool:
            self.questions += 1
            return self.questions < stop_at

    index = index_of(PHRASES)
    costs = costs_of(index)
    result = solve_sharded(index, costs, QUICK, listeners=[Asked()])
    whole = certify(result.cover, result.alpha, index.gram_of, costs)
    assert result.objective == whole.objective and whole.covered
    assert result.lower_bound == pytest.approx(whole.lower_bound, rel=1e-12) and result.lower_bound > 0
    assert result.reason in (TerminationReason.INTERRUPTED, TerminationReason.CONVERGED)


def test_a_time_limit_ends_it():
    index = index_of(PHRASES)
    result = solve_sharded(index, costs_of(index), replace(QUICK, time_limit=1e-9))
    assert result.reason is TerminationReason.TIME_LIMIT and result.certificate.covered


def test_objective_and_bound_only_get_better_and_are_valid():
    index = index_of(PHRASES)
    costs = costs_of(index)
    heard = []
    result = solve_sharded(index, costs, QUICK, listeners=[heard.append])
    best = [one.best_objective for one in heard]
    bounds = [one.lower_bound for one in heard if not np.isnan(one.lower_bound)]
    assert best == sorted(best, reverse=True) and bounds == sorted(bounds)
    assert best[-1] == result.objective and bounds[-1] <= solve_relaxation(index, costs).value * (1 + 1e-9)


def test_events_of_an_annealing_say_so():
    index = index_of(PHRASES)
    heard = []
    solve_sharded(index, costs_of(index), QUICK, listeners=[heard.append])
    stages = [one.stage for one in heard]
    assert {"relaxation", "local search", "annealing", "recombination"} < set(stages)
    assert all(np.isnan(one.get("relaxation")) for one in heard if one.stage == "annealing")


def test_the_estimator_and_its_features_are_the_same_whatever_the_shards(tmp_path):
    settings = ShardedSettings(shards=3, scratch=str(tmp_path), guided=GuidedSettings(annealings=1))
    model = CompressiveFeatures(solver="sharded", settings=settings).fit(PHRASES)
    assert model.result_.solver == "sharded" and model.duality_gap_ < 0.05
    decoded = model.decode(model.encode(PHRASES))
    assert [" ".join(words) for words in decoded] == PHRASES
    assert model.features().sum() == model.result_.n_pointers


def test_a_corpus_that_does_not_fit_is_offered_shards(monkeypatch):
    from cflengine.compression.solvers.memory import sharded_bytes
    from cflengine.engine import memory

    tokens = np.zeros(400_000, dtype=np.int32)
    table = CompressiveFeatures().tokenize(["a"])
    large = replace(table, tokens=tokens, doc_ptr=np.arange(0, 400_001, 100), start=tokens, end=tokens)
    usual = {"grams_per_token": 0.6, "longest": 100}
    room = sharded_bytes(400_000, 3, 8, **usual) / 0.9 + 1
    monkeypatch.setattr(memory, "available_bytes", lambda: int(room))
    with pytest.raises(MemoryLimitError, match=r"in shards that wait on disk \(cflengine compress --shards 8\)"):
        CompressiveFeatures().fit_tokens(large)
    with pytest.raises(MemoryLimitError, match="--shards 8"):
        CompressiveFeatures(solver="sharded", settings=ShardedSettings(in_memory=True)).prepare(large)
    CompressiveFeatures(solver="sharded", settings=ShardedSettings(shards=8)).prepare(large)


@pytest.mark.parametrize("wrong", [{"shards": 0}, {"shards": 2.5}, {"scratch": 3}, {"tol": -1}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ShardedSettings(**wrong)


def test_settings_without_shards():
    settings = ShardedSettings(tol=0.5, random_state=7, guided=GuidedSettings(epsilon=3.0, tol=0.1))
    assert settings.unsharded == GuidedSettings(tol=0.5, epsilon=3.0, random_state=7)


def test_shards_rest_between_their_turns(tmp_path):
    """What a shard on disk holds in memory is nothing."""

    class Counted:
        alive = 0

        def __init__(self) -> None:
            self.values = np.arange(5.0)

        def __new__(cls):
            cls.alive += 1
            return super().__new__(cls)

        def __del__(self) -> None:
            type(self).alive -= 1

        def turn(self, by: float) -> float:
            self.values += by
            return float(self.values.sum())

    globals()["Counted"] = Counted  # pickle finds classes by name
    Counted.__qualname__ = "Counted"
    executor = InTurn((Counted() for _ in range(4)), tmp_path)
    assert Counted.alive <= 1
    assert executor.each("turn", [1.0, 2, 3, 4]) == [15, 20, 25, 30]
    assert executor.each("turn", [1.0] * 4) == [20, 25, 30, 35] and Counted.alive <= 1


def test_long_documents_and_sentence_borders():
    """A document that is cut into blocks within its shard."""
    rng = np.random.default_rng(5)
    tokens = np.minimum(rng.zipf(1.3, 30_000), 2_000).astype(np.int32)
    index = index_kgrams(tokens, np.array([0, 14_000, 14_010, 29_000, 30_000]), 3)
    costs = costs_of(index)
    result = solve_sharded(index, costs, replace(QUICK, guided=GuidedSettings(annealings=1, relaxation_iterations=120)))
    whole = certify(result.cover, result.alpha, index.gram_of, costs)
    assert result.objective == whole.objective and whole.covered
    assert result.lower_bound == pytest.approx(whole.lower_bound, rel=1e-12) and result.gap < 0.02


def test_what_comes_before_the_first_event_is_told_and_can_be_stopped(tmp_path):
    told = []

    class Listening(Watch):
        def begin(self, stage, unit="", total=0):
            super().begin(stage, unit, total)
            told.append((stage, total))

    settings = ShardedSettings(shards=3, scratch=str(tmp_path), guided=GuidedSettings(annealings=1))
    model = CompressiveFeatures(solver="sharded", settings=settings)
    table = model.tokenize(PHRASES)
    model.fit_tokens(table, watch=Listening())
    assert told == [("indexing phrases", 3 * PASSES), ("making shards", 3), ("comparing shards", 0)]
    for most in (1, 4):
        asked = []
        watch = Watch(lambda asked=asked, most=most: asked.append(0) or len(asked) < most)
        with pytest.raises(Stopped):
            CompressiveFeatures(solver="sharded", settings=settings).fit_tokens(table, watch=watch)
    assert os.listdir(tmp_path) == []
