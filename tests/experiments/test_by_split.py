"""Splits that choose for themselves: what is told of a document is told by the model that judged it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from test_evaluation import corpus, tasks_of

from cflengine.experiments.evaluation import Budget, Evaluation, EvaluationSettings
from cflengine.experiments.explain import judge_of, word_weights
from cflengine.experiments.findings import find
from cflengine.experiments.tasks import compare, to_the_end


@pytest.fixture(scope="module")
def folds():
    """A number that hardly depends on the words, so that folds disagree about λ."""
    texts, frame = corpus(120, seed=3)
    frame["noisy"] = frame["score"] + np.random.default_rng(0).normal(size=len(frame))
    settings = EvaluationSettings(lams=(0.05, 0.3, 1.0, 3.0), countings=("pointers",), rivals=False)
    run = Evaluation(texts, tasks_of(texts, frame, "noisy", folds=4), settings)
    run.run()
    return run, run.standings[0], find(run, run.standings[0])


def test_folds_chose_different_lams(folds):
    _, standing, finding = folds
    lams = [one["lam"] for one in finding.methods["compressed:pointers"]["by_split"]]
    assert len(set(lams)) > 1 and finding.recommended == "compressed:pointers"
    chosen = finding.methods["compressed:pointers"]["chosen"]
    assert chosen == [vars(one.outcome.chosen[k]) for k, one in enumerate(standing.by_split["compressed:pointers"])]


def test_words_of_a_document_sum_to_what_its_own_split_predicted(folds):
    run, standing, finding = folds
    task, best = finding.task, standing.recommended
    for k, split in enumerate(task.splits):
        X = run.weighted(judge_of(finding, int(split.test[0])).make())
        weights = task.weights(X, best.outcome.chosen, k)
        predicted = finding.predictions.set_index("document").loc[split.test, "compressed"].to_numpy()
        sums = [sum(w for *_, w in word_weights(run, finding, int(d), weights.row(0), X)) for d in split.test]
        intercepts = predicted - np.array(sums)
        np.testing.assert_allclose(intercepts, intercepts[0], atol=0.01)  # learnt once more, to the gap asked for


def test_the_learning_curve_ends_where_all_documents_stand(folds):
    _, _, finding = folds
    own = finding.curve[finding.curve["method"] == "compressed:pointers"].set_index("share")["mse"]
    assert own[1.0] == pytest.approx(finding.methods["compressed:pointers"]["mse"], rel=1e-12)


def test_a_dictionary_of_training_texts_has_the_lam_of_its_split(folds, monkeypatch):
    from cflengine.experiments import findings

    run, standing, finding = folds
    asked = []

    def noted(model, table, lams, **more):
        asked.append(lams)
        return findings_dictionaries(model, table, lams, **more)

    findings_dictionaries = findings.find_dictionaries
    monkeypatch.setattr(findings, "find_dictionaries", noted)
    again = find(run, standing)
    assert asked == [[one["lam"]] for one in finding.methods["compressed:pointers"]["by_split"]]
    assert again.unseen["mse"] == finding.unseen["mse"]


def test_only_the_ways_to_count_that_were_asked_for_are_tried():
    texts, frame = corpus(60)
    for countings, several in ((("pointers",), False), (("soft",), False), (("occurrences", "soft"), True)):
        run = Evaluation(
            texts,
            tasks_of(texts, frame, "mood"),
            EvaluationSettings(lams=(0.1, 1.0), countings=countings, rivals=False),
        )
        run.run()
        tried = {name.partition(":")[2] for name in run.standings[0].best if name.startswith("compressed:")}
        assert tried == {*countings, *(["several"] if several else [])}


def test_what_is_explained_after_a_stop_is_learnt_to_its_end():
    texts, frame = corpus(80)
    run = Evaluation(texts, tasks_of(texts, frame, "score", folds=2), EvaluationSettings(lams=(0.1,), rivals=False))
    run.run()
    task, best = run.standings[0].task, run.standings[0].recommended
    X = run.weighted(best.candidate.make())
    whole = task.weights(X, best.outcome.chosen).row(0)
    task.listeners = (Budget(0.0),)
    with to_the_end(task):
        again = task.weights(X, best.outcome.chosen).row(0)
    assert np.array_equal(whole, again) and isinstance(task.listeners[0], Budget)


def test_documents_that_are_most_wrong_come_first_of_centroids_too():
    rng = np.random.default_rng(0)
    for column, task, n, each in (("author", "author", 12, 12), ("kind", "class", 52, 5)):
        names = [f"w{k % n:02d}" for k in range(n * each)]
        texts = [
            " ".join([*rng.choice(["ale", "stout", "malt", "hop"], 10), f"by {name}" if rng.random() < 0.6 else "x y"])
            for name in names
        ]
        from cflengine.experiments.run import make_tasks

        frame = pd.DataFrame({column: names})
        run = Evaluation(
            texts, make_tasks(texts, frame, [column], task=task), EvaluationSettings(lams=(0.1,), rivals=False)
        )
        run.run()
        finding = find(run, run.standings[0])
        wrong = finding.predictions["wrong"].to_numpy()
        right = (finding.predictions["truth"] == finding.predictions["compressed"]).to_numpy()
        assert (wrong[right] == 0).all() and (wrong[~right] > 0).all() and 0 < (~right).sum() < len(right)
        assert compare(
            finding.task, run.standings[0].best["unigrams"].outcome, run.standings[0].best["unigrams"].outcome
        )
