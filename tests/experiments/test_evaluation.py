"""An evaluation from texts to findings: what is chosen by, what is judged by, what is kept, and stopping."""

from __future__ import annotations

import json
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

from cflengine import load_model
from cflengine.engine.checks import InputError
from cflengine.experiments import dictionaries, evaluation, rivals, tasks
from cflengine.experiments.authors import AuthorRules, AuthorTask
from cflengine.experiments.evaluation import Budget, Evaluation, EvaluationSettings
from cflengine.experiments.explain import word_weights
from cflengine.experiments.export import evaluation_report, flat_table, model_names, write_evaluation
from cflengine.experiments.findings import SHARES, final_model, find
from cflengine.experiments.learners import Regularisation, fit_classes, fit_numbers, marginal_t, preference
from cflengine.experiments.methods import Candidate
from cflengine.experiments.splits import Plan, make_plan
from cflengine.experiments.targets import read_target
from cflengine.experiments.tasks import DocumentTask, Outcome, compare
from cflengine.linear.labels import Split
from cflengine.text.tokens import DEFAULT_TOKEN_PATTERN

LAMS = (0.1, 1.0)
GOOD, BAD = "what a lovely thing", "not a lovely thing"


def corpus(n: int = 160, seed: int = 0) -> tuple[list[str], pd.DataFrame]:
    """Classes told by a phrase whose words alone do not tell; numbers by how often a word stands; authors by habits."""
    rng = np.random.default_rng(seed)
    texts, rows = [], []
    words = ["the", "beer", "was", "poured", "and", "drunk", "in", "town", "by", "us", "all", "night"]
    for k in range(n):
        mood, count, who = rng.integers(0, 2), int(rng.integers(0, 5)), int(k % 8)
        pieces = list(rng.choice(words, 9))
        pieces += ["what a lovely thing , not bad" if mood else "not a lovely thing , what bad"]
        pieces += ["rich"] * count + [f"cheers from {'abcdefgh'[who]}{who}"]
        texts.append(" ".join(pieces) + " .")
        rows.append(("up" if mood else "down", count + 0.1 * rng.normal(), f"w{who}"))
    return texts, pd.DataFrame(rows, columns=["mood", "score", "author"])


def tasks_of(texts, frame, *columns, **own):
    targets = [read_target(frame, column, "author" if column == "author" else "auto") for column in columns]
    shared = [target for target in targets if target.task != "author"]
    plan = make_plan(frame, shared, **own) if shared else None
    return [AuthorTask(t, texts) if t.task == "author" else DocumentTask(t, plan) for t in targets]


@pytest.fixture(scope="module")
def done():
    texts, frame = corpus()
    stages = []
    run = Evaluation(
        texts, tasks_of(texts, frame, "mood", "score", "author", folds=2), EvaluationSettings(lams=LAMS),
        on_stage=stages.append,
    )  # fmt: skip
    run.run()
    return texts, frame, run, [find(run, standing) for standing in run.standings], stages


def test_every_method_is_judged_for_every_target(done):
    _, _, run, findings, stages = done
    for finding in findings:
        names = set(finding.methods)
        assert {
            "unigrams",
            "tf_idf",
            "all_kgrams",
            "compressed:pointers",
            "compressed:occurrences",
            "compressed:soft",
        } <= names
        assert any(name.startswith("kgrams:") and name.endswith(":equal") for name in names)
        for entry in finding.methods.values():
            low, high = entry[f"{finding.task.measure}_interval"]
            assert low <= entry[finding.task.measure] <= high and entry["features"] > 0
    assert run.saved_seconds() > 0 and any("λ" in stage for stage in stages)


def test_tf_idf_is_scikit_learns(done):
    texts, _, run, _, _ = done
    peer = TfidfVectorizer(token_pattern=DEFAULT_TOKEN_PATTERN).fit_transform(texts)
    own = run.features.tf_idf()
    np.testing.assert_allclose(np.sort(own.weighted(own.make()).data), np.sort(peer.data))


def test_kept_dictionaries_are_seconds_saved(tmp_path):
    texts, frame = corpus(40)
    found = []
    for _ in range(2):
        run = Evaluation(
            texts, tasks_of(texts, frame, "mood"), EvaluationSettings(lams=(0.1,), rivals=False), folder=tmp_path
        )
        run.run()
        found.append((run.path.read, run.saved_seconds() == (run.path.seconds if run.path.read else 0.0)))
    assert found == [(False, True), (True, True)]
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="kept in a folder"):
        Evaluation(texts, tasks_of(texts, frame, "mood"), folder=tmp_path / "file").run()


def test_phrases_tell_what_words_cannot(done):
    mood = done[3][0]
    assert mood.methods["all_kgrams"]["accuracy"] > 0.95 and mood.methods[mood.recommended]["accuracy"] > 0.95
    assert mood.methods["unigrams"]["accuracy"] < 0.7
    assert mood.baseline["accuracy"] < 0.7


def test_numbers_and_authors_are_learnt(done):
    _, score, author = done[3]
    assert score.methods["unigrams"]["mse"] < 0.3 * score.baseline["mse"] and score.methods["unigrams"]["r2"] > 0.7
    assert author.methods[author.recommended]["accuracy"] > 0.9 and author.baseline["accuracy"] == 1 / 8
    assert author.learners[0]["shrunken_centroids"] > 0.5 and author.learners[0]["nearest_centroid_euclidean"] > 0.5


def test_a_candidate_is_chosen_by_development_documents_alone(done):
    _, _, run, findings, _ = done
    frame = run.frame()
    for finding in findings:
        own = frame[frame["target"] == finding.task.target.column]
        for name, entry in finding.methods.items():
            rows = own[own["method"] == name]
            best = rows["dev"].max() if finding.task.larger_is_better else rows["dev"].min()
            assert entry["dev"] == best
            assert entry["features"] == rows[rows["dev"] == best]["features"].min()


def test_no_learner_sees_a_held_out_document(done):
    """Other targets there change nothing."""
    texts, frame, run, _, _ = done
    X = run.weighted(run.features.unigrams().make())
    target = read_target(frame, "mood")
    split = tasks_of(texts, frame, "mood", test=0.3)[0].splits[0]
    y = target.labels.y.copy()
    before = fit_classes(X, y, split)
    y[split.test] = 1 - y[split.test]
    after = fit_classes(X, y, split)
    np.testing.assert_array_equal(before.model.coef_, after.model.coef_)


def test_words_of_a_document_sum_to_its_score(done):
    texts, _, run, findings, _ = done
    for finding in findings[:2]:
        weights = finding.weights
        row = weights.towards(*(("", "") if finding.task.numbers else ("up", "down")))
        x = run.weighted(finding.standing.recommended.candidate.make())
        for document in (0, 7):
            words = word_weights(run, finding, document, row, x)
            assert sum(weight for *_, weight in words) == pytest.approx(float((x[document] @ row)[0]), abs=1e-9)
            assert all(0 <= a < b <= len(texts[document]) for a, b, _ in words)


def test_the_final_model_reads_texts_and_can_be_kept(done, tmp_path):
    _, _, run, findings, _ = done
    report = evaluation_report(run, findings, _corpus(done), {"command": "evaluate"}, 1.0)
    write_evaluation(tmp_path, run, findings, _corpus(done), report)
    model = load_model(tmp_path / "model-mood.cflm")
    again = final_model(run, findings[0])
    texts = done[0][:20]
    np.testing.assert_array_equal(model.predict(texts), again.predict(texts))
    assert set(model.predict(texts)) <= {"up", "down"} and final_model(run, findings[2]) is None
    right = load_model(tmp_path / "model-score.cflm").predict(texts) - done[1]["score"].to_numpy()[:20]
    assert np.abs(right).mean() < 0.5
    table = flat_table(findings)
    assert {"target", "method", "accuracy", "accuracy_low", "p_against_unigrams", "mse_high"} <= set(table)
    assert set(report["targets"]) == {"mood", "score", "author"}
    assert set(report["targets"]["mood"]["methods"]) == set(findings[0].methods)


def _corpus(done):
    from types import SimpleNamespace

    report = SimpleNamespace(source="x.csv", to_dict=dict)
    return SimpleNamespace(report=report, digest="d", rows=np.arange(len(done[0])))


def test_the_dictionary_of_training_texts_has_not_seen_the_others(done):
    _, _, run, findings, _ = done
    assert findings[0].unseen["accuracy"] > 0.6 and "against_all_texts" in findings[0].unseen
    held = findings[0].task.held_out[0]
    counts = sparse.csr_matrix(np.ones((len(done[0]), 2)))
    counts[held, 1] = 0.0
    counts.eliminate_zeros()
    known = np.setdiff1d(np.arange(160), held)
    assert run.weighted(counts, unseen=held)[known[0], 1] == run.weighted(counts[known])[0, 1]
    assert run.weighted(counts)[known[0], 1] > run.weighted(counts[known])[0, 1]  # rarer among all documents


def test_learning_curves_rise_to_the_whole(done):
    curve = done[3][1].curve
    own = curve[curve["method"] == "unigrams"]
    assert own["mse"].iloc[0] > own["mse"].iloc[-1] == pytest.approx(done[3][1].methods["unigrams"]["mse"], rel=1e-12)


def test_comparisons_are_paired_and_antisymmetric(done):
    finding = done[3][0]
    standing = finding.standing
    first, second = standing.best["all_kgrams"].outcome, standing.best["unigrams"].outcome
    one, other = compare(standing.task, first, second), compare(standing.task, second, first)
    assert one["gain"] == -other["gain"] and one["p"] == other["p"]
    assert compare(standing.task, first, first)["p"] == 1.0


def test_a_gain_over_guessing_is_seen_through_numbers_that_lie_far_apart():
    """The error's own interval is as wide as the numbers are; what two predictions of them differ by is not."""
    texts, frame = corpus()
    # few numbers lie far out, and no word tells which
    far = np.random.default_rng(1).standard_cauchy(len(frame))
    frame["score"] = 5.0 * frame["score"] + 3.0 * far
    (task,) = tasks_of(texts, frame, "score")
    truth = task.truth
    near = truth.mean() + 0.3 * (truth - truth.mean())
    found = task.over_guessing(Outcome(near, (0.0,), (len(truth),)))
    assert found["gain_over_guessing_interval"][0] > 0
    score, guess = task.score(Outcome(near, (0.0,), (len(truth),))), task.baseline()
    assert score["mse_interval"][1] > guess["mse"], "which the intervals of both cannot tell"


def test_what_may_be_no_better_than_guessing_is_named(done):
    for finding in done[3]:
        for name, entry in finding.methods.items():
            low, high = entry["gain_over_guessing_interval"]
            assert low <= entry["gain_over_guessing"] <= high
            assert (name in finding.no_better_than_guessing()) == (not low > 0)
    assert "unigrams" not in done[3][1].no_better_than_guessing()


def test_dictionaries_are_kept_by_content(tmp_path, monkeypatch):
    texts, frame = corpus(60)

    def run(**own):
        settings = EvaluationSettings(lams=LAMS, rivals=False, countings=("occurrences",), **own)
        made = Evaluation(texts, tasks_of(texts, frame, "mood"), settings, folder=tmp_path)
        made.run()
        return made

    first = run()
    monkeypatch.setattr(dictionaries.CompressiveFeatures, "path", lambda *_: pytest.fail("solved again"))
    second = run()
    assert second.path.read and not first.path.read
    pd.testing.assert_frame_equal(first.frame().drop(columns="seconds"), second.frame().drop(columns="seconds"))
    with pytest.raises(pytest.fail.Exception, match="solved again"):
        run(max_gram=2)
    (kept,) = tmp_path.glob("path-*")
    report, whole = (kept / "report.json").read_text(), (kept / "0.cflm").read_bytes()
    (kept / "report.json").write_text(json.dumps({"points": []}))
    with pytest.raises(pytest.fail.Exception, match="solved again"):
        run()
    (kept / "report.json").write_text(report)
    for wrong in (b"cut off", (kept / "1.cflm").read_bytes()):  # nor of another λ
        (kept / "0.cflm").write_bytes(wrong)
        with pytest.raises(pytest.fail.Exception, match="solved again"):
            run()
    (kept / "0.cflm").write_bytes(whole)
    assert run().path.read


@pytest.mark.parametrize("after", [0, 1, 3, 9])
def test_a_stop_keeps_what_is_known(after):
    texts, frame = corpus(60)
    rows = []
    budget = Budget(None, lambda: len(rows) < after)
    run = Evaluation(
        texts, tasks_of(texts, frame, "mood", "score"), EvaluationSettings(lams=LAMS), budget=budget, on_row=rows.append
    )
    run.run()
    findings = [find(run, standing) for standing in run.standings]
    assert any("stopped" in note for note in run.notes) and len(rows) <= after + 1
    report = evaluation_report(run, findings, _corpus((texts,)), {}, 0.0)
    assert len(flat_table(findings)) == sum(len(finding.methods) for finding in findings) + 2
    assert set(report["targets"]) == {"mood", "score"}


@pytest.mark.parametrize("after", [1, 3, 6, 12, 40])
def test_what_a_stop_leaves_out_is_said(after, tmp_path):
    texts, frame = corpus(60)
    settings = EvaluationSettings(lams=LAMS[:1], countings=("pointers",), rivals=False)
    run = Evaluation(texts, tasks_of(texts, frame, "mood"), settings)
    run.run()
    asked = iter(range(10**6))
    run.budget = Budget(None, lambda: next(asked) < after)
    (finding,) = (find(run, standing) for standing in run.standings)
    report = evaluation_report(run, [finding], _corpus((texts,)), {}, 0.0)
    write_evaluation(tmp_path, run, [finding], _corpus((texts,)), report)
    said = " ".join([*finding.notes, *json.loads((tmp_path / "report.json").read_text())["notes"]])
    assert finding.recommended
    assert finding.unseen or "training documents alone" in said or "looked at closely" in said
    assert len(finding.curve) == 2 * len(SHARES) or "learning curve" in said or "looked at closely" in said
    assert (tmp_path / "model-mood.cflm").exists() or "model-mood.cflm" in said


def test_dictionaries_leave_time_to_learn_from_them(monkeypatch):
    texts, frame = corpus(60)
    run = Evaluation(texts, tasks_of(texts, frame, "mood"), EvaluationSettings(lams=LAMS, rivals=False, time_limit=60))
    found = []

    def slow(model, table, lams, *, listeners, folder):
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now + 45.0)
        found.extend(listener(None) for listener in listeners)
        monkeypatch.undo()
        return dictionaries.DictionaryPath((), 0.0, stopped=True)

    monkeypatch.setattr(evaluation, "find_dictionaries", slow)
    run.find_path(run.prepare())
    assert found == [True, False]  # of all time there is some left; of the path's there is none
    assert "stopped while dictionaries were found, at 0 of 2 λ" in run.notes


def test_time_that_is_up_stops():
    texts, frame = corpus(60)
    run = Evaluation(texts, tasks_of(texts, frame, "mood"), EvaluationSettings(lams=LAMS, time_limit=1e-9))
    run.run()
    assert run.notes and not run.standings[0].rows


def test_the_same_seed_gives_the_same_figures_on_one_thread_and_two():
    texts, frame = corpus(48)
    frames = []
    for n_threads in (1, 2):
        settings = EvaluationSettings(lams=LAMS[1:], rivals=False, n_threads=n_threads)
        run = Evaluation(texts, tasks_of(texts, frame, "mood", "score"), settings)
        run.run()
        frames.append(run.frame().drop(columns="seconds").sort_values(["target", "method", "lam", "temperature"]))
    pd.testing.assert_frame_equal(frames[0].reset_index(drop=True), frames[1].reset_index(drop=True))


def test_thousands_of_classes_go_to_centroids():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": [f"w{k % 200}" for k in range(1000)]})
    texts = [f"name{k % 200} " + " ".join(rng.choice(["a", "b", "c"], 4)) for k in range(1000)]
    (task,) = tasks_of(texts, frame, "who")
    assert task.learner.startswith("nearest") and not task.linear
    run = Evaluation(texts, [task], EvaluationSettings(lams=(0.1,), rivals=False))
    run.run()
    finding = find(run, run.standings[0])
    assert finding.methods["unigrams"]["accuracy"] > 0.9 and finding.weights.names[:1] == ("w0",)
    assert "no model is kept" in finding.notes[-1]
    assert (finding.telling["weight"] > 0).all()  # what a class has more of than others
    for name, own in finding.telling.groupby("class"):
        assert f"name{name[1:]}" in own["feature"].iloc[0].split()


def test_a_C_at_the_end_of_the_grid_is_followed():
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.normal(size=(300, 5)))
    y = X @ np.arange(5.0)
    split = Split(np.arange(200), np.arange(200, 250), np.arange(250, 300))
    fit = fit_numbers(X, np.asarray(y), split)
    assert fit.regularisation.C > 10 and fit.gap <= 1e-3
    given = fit_numbers(X, np.asarray(y), split, [Regularisation(0.3)])
    assert given.regularisation == Regularisation(0.3) and given.dev < fit.dev


def test_an_adaptive_penalty_is_a_ridge_on_columns_by_their_t():
    rng = np.random.default_rng(1)
    X = rng.poisson(1.0, size=(300, 8)) * rng.uniform(0.1, 5.0, 8)
    X[:, 6], X[:, 7] = 2.5, 0.0  # a constant and nothing
    y = X[:, 0] - 2 * X[:, 1] + rng.normal(size=300)
    rows, split = sparse.csr_matrix(X), Split(np.arange(200), np.arange(200, 250), np.arange(250, 300))
    t = marginal_t(rows[:200], y[:200])
    r = np.array([stats.pearsonr(X[:200, j], y[:200])[0] for j in range(6)])
    np.testing.assert_allclose(t[:6], np.sqrt(198) * np.abs(r) / np.sqrt(1 - r**2))
    assert (t[6:] == 0).all() and (marginal_t(rows, np.ones(300)) == 0).all()
    assert np.isfinite(marginal_t(rows, X[:, 0])).all()  # of a column that is the number itself, too

    fit = fit_numbers(rows, y, split, [Regularisation(1.0, 0.0, 0.5)])
    scaled = X * np.sqrt(t)
    C = 1.0 / (scaled[:200] ** 2).sum(axis=1).mean()
    peer = Ridge(alpha=1 / (2 * C)).fit(scaled[:200], y[:200])  # C Σ (y − f)² + ½‖β‖²
    np.testing.assert_allclose(fit.model.predict(rows), peer.predict(scaled), atol=0.05 * y.std())
    np.testing.assert_allclose(X @ fit.model.coef_.ravel() + fit.model.intercept_, fit.model.predict(rows))


def test_among_many_columns_that_say_nothing_the_adaptive_penalty_is_chosen():
    rng = np.random.default_rng(2)
    X = sparse.csr_matrix(rng.normal(size=(400, 300)))
    y = np.asarray(X[:, :3].sum(axis=1)).ravel() + rng.normal(size=400)
    split = Split(np.arange(150), np.arange(150, 300), np.arange(300, 400))
    chosen = fit_numbers(X, y, split)
    plain = fit_numbers(X, y, split, [Regularisation(C) for C in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)])
    errors = [np.mean((one.model.predict(X[split.test]) - y[split.test]) ** 2) for one in (chosen, plain)]
    assert chosen.regularisation.adaptive == 0.5 and errors[0] < 0.8 * errors[1]


def test_numbers_in_other_units_are_learnt_alike():
    texts, frame = corpus(120)
    (task,) = tasks_of(texts, frame, "score", test=0.3)
    run = Evaluation(texts, [task], EvaluationSettings(lams=(0.1,)))
    X = run.weighted(run.prepare().unigrams().make())
    y, split = frame["score"].to_numpy(), task.splits[0]
    one = fit_numbers(X, y, split, [Regularisation(1.0, 0.1)])
    other = fit_numbers(X, 1000.0 * y + 7.0, split, [Regularisation(1.0, 0.1)])
    np.testing.assert_allclose(1000 * one.model.predict(X) + 7, other.model.predict(X), rtol=2e-2, atol=20)


def test_selections_find_what_tells():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.poisson(1.0, size=(200, 30))
    X[:, 17] = 3 * y
    counts = sparse.csr_matrix(X)
    frame = pd.DataFrame({"y": np.where(y, "a", "b"), "n": y + 0.01 * rng.random(200)})
    for column in ("y", "n"):
        (task,) = tasks_of([""] * 200, frame, column, test=0.3)
        for name in rivals.selections_for(task):
            order = rivals.ranking(name, counts, task, np.arange(200))
            assert sorted(order) == list(range(30)) and (name == "document_frequency" or order[0] == 17)


@pytest.mark.parametrize(
    "wrong", [{"weighting": "bm25"}, {"countings": ("all",)}, {"countings": ()}, {"temperatures": (0.0,)}]
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=r"weighting|counting|count|temperature"):
        EvaluationSettings(**wrong)


WORDS = [["new", "york", "city", "is", "big"]] * 40 + [["a", "b"]] * 3


def test_gensim_cuts_at_several_thresholds():
    pytest.importorskip("gensim")
    found = list(rivals.gensim_phrases(WORDS))
    assert [threshold for threshold, _ in found] == list(rivals.THRESHOLDS)
    for _, cut in found:
        assert [" ".join(one).split() for one in cut] == WORDS


def test_byte_pairs_are_merged_one_by_one():
    pytest.importorskip("tokenizers")
    pairs = rivals.BytePairs(WORDS, 5)
    assert len(pairs.kinds) == 7 and 1 <= len(pairs.merges) <= 5
    longest = 1
    for n_merges in range(1, len(pairs.merges) + 1):
        cut = pairs.cut(n_merges)
        assert [" ".join(one).split() for one in cut] == WORDS
        counts, names = rivals.count_pieces(cut)
        assert counts.shape == (43, len(names)) and sum(" " in name for name in names) <= n_merges
        assert max(map(len, cut)) <= 6 - longest
        longest = 6 - max(map(len, cut))
    # learnt once, as it would be learnt for this number alone
    assert rivals.BytePairs(WORDS, 2).merges == pairs.merges[:2] and longest > 1


def test_l1_goes_on_while_the_last_is_best_and_is_as_large_as_asked_or_not_there(monkeypatch):
    monkeypatch.setattr(rivals, "L1_COSTS", (0.02, 0.3))
    monkeypatch.setattr(rivals, "L1_FURTHER", (1.0, 3.0, 10.0, 30.0, 100.0, 300.0))
    rng = np.random.default_rng(3)
    X = rng.poisson(0.3, size=(400, 300))
    y = X[:, :30] @ rng.normal(size=30) + 0.1 * rng.normal(size=400)
    texts = [" ".join(f"w{j}" for j in np.repeat(np.arange(300), row)) for row in X]
    (task,) = tasks_of(texts, pd.DataFrame({"y": y}), "y", test=0.3)
    run = Evaluation(texts, [task], EvaluationSettings(lams=(0.1,), max_gram=1, countings=("occurrences",)))
    run.run()
    rows = run.frame()
    tried = rows[rows.method == "kgrams:l1"].sort_values("l1_C")
    assert (
        tried.features.iloc[0] == 1 and 1.0 < tried.l1_C.max() < 300.0 and tried.dev.iloc[:-1].is_monotonic_decreasing
    )
    assert tried.dev.iloc[-1] >= tried.dev.iloc[-2]  # the first that was no better was the last
    models = rivals.L1Models(task)
    counts = run.features._all(1)
    cost = models.reaching(counts, 20, lambda: True)
    for train in task.training:
        assert np.count_nonzero(rivals.l1_weights(counts[train].astype(float), y[train], cost)) >= 20
        chosen = models.columns(cost, 20, counts, task, train)
        assert len(chosen) == 20 and (np.diff(chosen) > 0).all()
    assert models.reaching(counts, 100_000, lambda: True) is None


def test_rows_have_the_interval_of_the_method(done):
    pytest.importorskip("tokenizers")
    _, _, run, findings, _ = done
    assert all("phrases:bpe" in finding.methods for finding in findings)  # of few words there are few merges
    frame = run.frame()
    assert (frame.test_low <= frame.test + 1e-12).all() and (frame.test <= frame.test_high + 1e-12).all()
    finding = findings[1]
    for name in ("unigrams", "all_kgrams"):  # of one candidate
        (row,) = frame[(frame.target == "score") & (frame.method == name)].to_dict("records")
        assert finding.methods[name]["mse_interval"] == [row["test_low"], row["test_high"]]
    for name, entry in finding.methods.items():
        assert ("against_all_kgrams" in entry) == name.startswith("compressed:")


def test_what_a_targets_own_features_took_is_told(done):
    for finding in done[3]:
        own = [entry["feature_seconds"] for name, entry in finding.methods.items() if name.startswith("kgrams:")]
        assert own and min(own) > 1e-4


def test_all_kgrams_that_do_not_fit_are_left_out(monkeypatch):
    texts, frame = corpus(60)
    monkeypatch.setattr("cflengine.experiments.methods._MOST_ENTRIES", 10)
    run = Evaluation(texts, tasks_of(texts, frame, "mood"), EvaluationSettings(lams=(0.1,)))
    run.run()
    assert "all_kgrams" not in run.standings[0].best and any("do not fit" in note for note in run.notes)
    assert "unigrams" in run.standings[0].best


def test_one_call_from_columns_to_findings():
    from cflengine import evaluate

    texts, frame = corpus(60)
    settings = EvaluationSettings(lams=(0.1,), rivals=False, countings=("soft",), temperatures=(1.0,))
    (finding,) = evaluate(texts, frame, "mood", settings, folds=3)
    assert finding.recommended == "compressed:soft" and len(finding.predictions) == 60
    assert finding.table()["method"].iloc[-1] == "baseline"
    with pytest.raises(ValueError, match="no column 'taste'"):
        evaluate(texts, frame, ["mood", "taste"], settings)
    with pytest.raises(TypeError, match="no argument 'lams'; it is one of EvaluationSettings"):
        evaluate(texts, frame, "mood", lams=[0.3])


def test_features_that_learning_could_not_hold_are_left_out(monkeypatch):
    texts, frame = corpus(60)
    monkeypatch.setattr(tasks, "_MOST_BYTES", 30_000)
    run = Evaluation(texts, tasks_of(texts, frame, "mood"), EvaluationSettings(lams=(0.1,), rivals=False))
    run.run()
    assert "all_kgrams" not in run.standings[0].best and "unigrams" in run.standings[0].best
    assert any("too many features" in note for note in run.notes)


# ---- what a review found


def test_folds_do_not_let_each_other_choose_by_test_documents():
    """Candidates that know nothing win nothing, however many there are: each split chooses for itself."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"mood": rng.choice(["up", "down"], 200)})
    (task,) = tasks_of([""] * 200, frame, "mood")
    standing = evaluation.Standing(task)
    for k in range(60):
        said = rng.integers(0, 2, 200)
        parts, at = [], 0
        for split in task.splits:
            full = np.zeros(200, dtype=int)
            full[:] = np.random.default_rng(k).integers(0, 2, 200)
            dev = float(np.mean(full[split.dev] == task.target.truth[split.dev]))
            parts.append(Outcome(full[split.test], (dev,), (len(split.test),), (None,)))
            at += len(split.test)
        assert at == len(said)
        standing.add(evaluation.Judged(Candidate("noise", None, None, {"lam": k}), Outcome.joined(parts), 1, 0.0))
    chosen = float(np.mean(task.worth(standing.best["noise"].outcome)))
    pooled = max(row["test"] for row in standing.rows if row["dev"] == max(r["dev"] for r in standing.rows))
    assert chosen < 0.56 <= pooled + 0.03
    assert len({id(one) for one in standing.by_split["noise"]}) > 1


def test_a_class_that_a_fold_does_not_learn_keeps_the_others_names():
    frame = pd.DataFrame({"kind": ["a"] * 30 + ["b"] * 30 + ["c"] * 3 + ["d"] * 30})
    texts = [f"{kind} {kind} word {k % 7}" for k, kind in enumerate(frame["kind"])]
    target = read_target(frame, "kind")
    everything = np.arange(93)
    test = np.array([0, 31, 60, 61, 62, 70])
    rest = np.setdiff1d(everything, test)
    (task,) = [DocumentTask(target, Plan((Split(rest[::2], rest[1::2], test),), "by hand"))]
    run = Evaluation(texts, [task], EvaluationSettings(lams=(0.1,), rivals=False))
    run.run()
    finding = find(run, run.standings[0])
    assert finding.weights.names == ("a", "b", "d")
    for name in finding.weights.names:
        best = finding.telling[finding.telling["class"] == name].sort_values("weight").iloc[-1]["feature"]
        assert name in best.split()


def test_a_training_part_of_one_class_is_refused_before_any_work():
    frame = pd.DataFrame({"kind": ["a"] * 60 + ["b"] * 20, "when": list(range(80))})
    with pytest.raises(ValueError, match="all of one class"):
        tasks_of([""] * 80, frame, "kind", time="when")


def test_documents_that_share_nothing_leave_nothing_to_select():
    texts = [f"word{k} other{k}" for k in range(24)]
    frame = pd.DataFrame({"kind": ["a", "b"] * 12})
    run = Evaluation(texts, tasks_of(texts, frame, "kind"), EvaluationSettings(lams=(0.1,)))
    run.run()
    assert not any(name.startswith("kgrams:") for name in run.standings[0].best)


def test_one_held_out_document_is_enough_but_for_the_svm():
    from cflengine.experiments.authors import AuthorRules

    texts, frame = corpus(100)
    task = AuthorTask(read_target(frame, "author", "author"), texts, AuthorRules(held_out=1))
    assert f"of {len(task.truth)} of them, {int(task.dev.sum())} to choose by" in task.how
    run = Evaluation(texts, [task], EvaluationSettings(lams=(0.1,), rivals=False))
    run.run()
    finding = find(run, run.standings[0])
    assert "two held-out documents" in finding.learners[0]["linear_svm_single_documents"]


@pytest.mark.parametrize("spread", [1e-12, 1e17])
def test_numbers_of_any_size_are_learnt(spread):
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.normal(size=(120, 4)))
    y = (X @ np.arange(4.0)) * spread
    split = Split(np.arange(80), np.arange(80, 100), np.arange(100, 120))
    fit = fit_numbers(X, np.asarray(y), split)
    np.testing.assert_allclose(fit.model.predict(X), y, atol=0.2 * y.std())


def test_a_path_that_was_stopped_on_its_way_back_is_not_kept(tmp_path):
    texts, _ = corpus(60)
    model = evaluation.CompressiveFeatures(max_gram=2, settings=evaluation.PATH_SETTINGS)
    table = evaluation.Tokenizer(model.token_pattern, True)(texts)
    count = 0

    def counted(stats):
        nonlocal count
        count += 1

    dictionaries.find_dictionaries(model, table, LAMS, listeners=(counted,))
    last = count
    left = iter(range(last - 1))
    path = dictionaries.find_dictionaries(
        model, table, LAMS, listeners=(lambda stats: next(left, None) is not None,), folder=tmp_path
    )
    assert path.stopped and not list(tmp_path.glob("path-*"))


def test_texts_and_rows_must_be_as_many():
    texts, frame = corpus(60)
    with pytest.raises(ValueError, match="59 texts, but 60 rows"):
        Evaluation(texts[:59], tasks_of(texts, frame, "mood"))


def test_a_stop_is_heard_while_learning():
    texts, frame = corpus(60)
    asked = iter(range(1000))
    run = Evaluation(texts, tasks_of(texts, frame, "mood"), EvaluationSettings(lams=LAMS))
    run.prepare()
    run.budget = Budget(None, lambda: next(asked) < 1)
    run.standings[0].task.listeners = (run.budget,)
    assert run._try(run.features.unigrams(), run.standings) and not run.standings[0].rows


def test_files_of_models_never_share_a_name():
    names = model_names(["评分", "标签", "a b", "a_b", "A_B", "x"])
    assert len({name.lower() for name in names}) == 6 and names[-1] == "model-x.cflm" and names[0] == "model-评分.cflm"
    assert len(set(model_names(["%", "&", "_-2", "_"]))) == 4


@pytest.mark.parametrize("wrong", [
    {"lams": ()}, {"lams": (-1.0,)}, {"lams": (float("nan"),)}, {"lams": "abc"}, {"max_gram": 0}, {"max_gram": 2.5},
    {"token_pattern": "("}, {"n_threads": 0}, {"time_limit": -1.0}, {"temperatures": ()}, {"countings": ()},
])  # fmt: skip
def test_settings_that_are_none_are_refused_at_once(wrong):
    with pytest.raises(ValueError):
        EvaluationSettings(**wrong)


@pytest.mark.parametrize("wrong", [{"held_out": 0}, {"dev": 0.0}, {"dev": 1.0}, {"dev": "x"}, {"most_authors": 1}])
def test_rules_for_authors_that_are_none(wrong):
    with pytest.raises(InputError):
        AuthorRules(**wrong)


def test_by_how_much_a_class_was_preferred_is_the_score_that_its_words_sum_to():
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.normal(size=(90, 4)))
    for n_classes in (2, 3):
        y = np.argmax(X[:, :n_classes].toarray() + 0.5 * rng.normal(size=(90, n_classes)), axis=1)
        model = fit_classes(X, y, Split(np.arange(60), np.arange(60, 90), np.arange(60, 90))).model
        scores, said = model.decision_function(X), model.predict(X)
        wrong = preference(model, X, said, y)
        expected = np.abs(scores) if n_classes == 2 else scores.max(axis=1) - scores[np.arange(90), y]
        np.testing.assert_allclose(wrong[said != y], expected[said != y])
        assert (said != y).any() and (wrong[said == y] == 0).all()


def test_judged_by_one_class_alone_is_refused():
    texts, frame = corpus(160)
    own = frame.assign(split=["train"] * 80 + ["dev"] * 40 + ["test"] * 40, kind=["a", "b"] * 60 + ["a"] * 40)
    with pytest.raises(InputError, match=r"are all 'a', and any guess would be right"):
        tasks_of(texts, own, "kind")
