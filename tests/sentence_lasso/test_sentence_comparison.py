"""A comparison from text to tables: what is learnt from whom, models compared, files that leave."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

from cflengine import CompressiveFeatures, Corpus, GuidedSettings, load_model
from cflengine.engine.files import restore_cell
from cflengine.linear.export import largest_weights, predictions_frame
from cflengine.linear.labels import read_labels, split_documents
from cflengine.linear.search import paired_test
from cflengine.sentence_lasso.comparison import prepare
from cflengine.sentence_lasso.export import sentence_weights, sentences_frame, write_sentences
from cflengine.sentence_lasso.grid import find_best
from cflengine.sentence_lasso.sentences import GramFeatures
from cflengine.sentence_lasso.solvers.settings import ADMMSettings

GOOD, BAD = ["good", "nice", "lovely", "fine", "great"], ["bad", "awful", "dull", "grim", "poor"]
PLAIN = ["the", "beer", "of", "it"]


def documents(n: int = 60, seed: int = 0) -> tuple[list[str], pd.DataFrame]:
    """Reviews of three sentences, of which one has words that tell."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for k in range(n):
        telling = GOOD if k % 2 else BAD
        sentences = [rng.choice(PLAIN, 4).tolist() for _ in range(2)] + [rng.choice([*telling, "the"], 3).tolist()]
        texts.append(" ".join(" ".join(words).capitalize() + "." for words in sentences))
        labels.append("up" if k % 2 else "down")
    return texts, pd.DataFrame({"mood": labels})


@pytest.fixture(scope="module")
def texts():
    return documents()[0]


@pytest.fixture(scope="module")
def comparison(texts):
    metadata = documents()[1]
    labels = read_labels(metadata, "mood")
    return prepare(texts, labels, split_documents(labels, metadata, test=0.2))


@pytest.fixture(scope="module")
def best(comparison):
    return [comparison.find_best(kind, (0.01, 0.1, 1.0), n_threads=1) for kind in ("sentence", "lasso", "ridge")]


def test_features_are_those_of_the_training_documents(texts):
    odd = [*texts[:-1], texts[-1] + " Unheard."]
    metadata = documents()[1].assign(part=["train"] * 59 + ["last"])
    labels = read_labels(metadata, "mood")
    comparison = prepare(odd, labels, split_documents(labels, metadata, test="part=last"))
    assert "unheard" not in comparison.names
    assert comparison.data.X.shape == (len(comparison.train), len(comparison.names))
    counts = comparison.part(comparison.train).table.by_document() != comparison.data.X
    assert counts.nnz == 0


def test_a_part_is_its_documents(comparison, texts):
    part = comparison.part(comparison.test)
    alone = [texts[d].lower().replace(".", "").split() for d in comparison.documents[comparison.test]]
    for row, words in zip(part.table.by_document().toarray(), alone, strict=True):
        found = {name: int(count) for name, count in zip(comparison.names, row, strict=True) if count}
        assert found == {word: words.count(word) for word in words if word in comparison.names}


def test_contenders_tell_the_classes_apart_and_are_proved(comparison, best):
    for model in best:
        assert model.test_accuracy >= 0.9 and model.gap <= 1e-4
        X = comparison.part(comparison.test).table.by_document()
        assert model.test_accuracy == model.model.accuracy(X, comparison.y[comparison.test])
        assert model.row()["features"] == model.model.size


def test_admm_keeps_its_own_rule_in_the_last_fit(comparison):
    found = comparison.find_best("sentence", (0.1,), settings=ADMMSettings(max_iter=3), n_threads=1)
    assert found.results[0].n_iterations == 3 and found.results[0].early_stopped


def test_a_last_fit_that_is_cut_off_does_not_lose_what_the_search_had_proved(comparison):
    searched = []
    found = comparison.find_best(
        "sentence", (0.1,), n_threads=1, on_point=lambda point: searched.append(point) or True,
        listeners=(lambda stats: not searched,),  # the search comes to its end, what is after it does not
    )  # fmt: skip
    (point,) = searched
    assert found.results == point.results and found.gap <= 1e-3
    assert comparison.find_best("sentence", (0.1,), n_threads=1).gap <= 1e-4


def test_without_a_test_set_nothing_is_judged(comparison):
    found = find_best(
        comparison.part(comparison.train), comparison.part(comparison.dev), None, "lasso", (1.0,), n_threads=1
    )
    assert np.isnan(found.test_accuracy) and found.dev_accuracy > 0.5


def test_relevance_has_a_column_for_each_model(comparison, best):
    models = {model.penalty.kind: model.model for model in best}
    where = comparison.test[:3]
    frame = comparison.relevance(models, where)
    assert set(frame["document"]) == set(comparison.documents[where])
    for name, model in models.items():
        alone = comparison.relevance({name: model}, where)
        assert np.array_equal(alone[f"log_odds_{name}"], frame[f"log_odds_{name}"])
    # what tells stands in the last sentence of every document
    last = ~frame.duplicated("document", keep="last")
    assert frame.loc[last, "log_odds_sentence"].mean() > frame.loc[~last, "log_odds_sentence"].mean() + 0.1
    assert frame.loc[last, "group_norm"].min() > frame.loc[~last, "group_norm"].max()


def test_words_with_a_weight_stand_where_they_are_in_the_text(comparison, best):
    text = "A GOOD beer. Awful!"
    coef = best[0].model.coef[0]
    for start, end, weight in comparison.weighted_words(text, coef):
        assert weight == coef[comparison.names.tolist().index(text[start:end].lower())] != 0
    words = {text[a:b].lower() for a, b, _ in comparison.weighted_words(text, coef)}
    assert {"good", "awful"} <= words


def test_kgrams_are_features_too(texts):
    metadata = documents()[1]
    labels = read_labels(metadata, "mood")
    grams = GramFeatures(CompressiveFeatures(max_gram=2, settings=GuidedSettings(tol=0.01)))
    comparison = prepare(texts, labels, split_documents(labels, metadata, test=0.2), features=grams)
    pointers = grams.model.encode([texts[d] for d in comparison.documents[comparison.train]])
    assert comparison.data.counts.sum() == np.count_nonzero(pointers.gram >= 0)
    assert comparison.find_best("sentence", (0.1,), n_threads=1).test_accuracy >= 0.8


def test_nothing_to_learn_from_is_told():
    metadata = pd.DataFrame({"c": ["a", "b"] * 5})
    labels = read_labels(metadata, "c")
    with pytest.raises(ValueError, match="hold no word"):
        prepare(["!!"] * 10, labels, split_documents(labels, metadata))


def test_largest_weights(comparison):
    coef = np.zeros(len(comparison.names))
    coef[[1, 3]] = 0.5, -2.0
    frame = largest_weights(comparison.names, coef, 50, occurrences=comparison.occurrences)
    assert frame["feature"].tolist() == [comparison.names[3], comparison.names[1]] and frame["weight"].tolist() == [
        -2.0,
        0.5,
    ]
    assert frame["occurrences"].tolist() == comparison.data.occurrences[[3, 1]].tolist()


def test_files_say_what_the_models_say(comparison, best, texts, tmp_path):
    corpus = Corpus.from_texts(texts)
    write_sentences(tmp_path, comparison, best, corpus, {"gap": np.nan})
    for one in best:
        again = load_model(tmp_path / f"{one.penalty.kind}.cflm")
        np.testing.assert_array_equal(again.predict(texts), comparison.classes[one.model.predict(comparison.X)])
    read = {path.stem: pd.read_csv(path) for path in tmp_path.glob("*.csv")}
    assert set(read) == {"models", "grid", "weights", "sentences", "documents"}
    assert json.loads((tmp_path / "report.json").read_text())["gap"] is None
    assert read["grid"]["penalty"].value_counts().to_dict() == {"sentence": 9, "lasso": 3, "ridge": 3}
    sentences = read["sentences"]
    assert len(sentences) == len(comparison.table) and (sentences["text"].map(restore_cell).str.endswith(".")).all()
    assert sentences.groupby("split")["document"].nunique().to_dict() == {
        "train": len(comparison.train), "dev": len(comparison.dev), "test": len(comparison.test),
    }  # fmt: skip
    assert (sentences["selected"] == (sentences["group_norm"] > 0)).all()
    documents = read["documents"]
    judged = documents[documents["split"] == "test"]
    assert (judged["label"] == judged["predicted"]).mean() == best[0].test_accuracy
    assert (documents["row"] == documents["document"]).all() and (documents["probability"] >= 0.5).all()
    weights = read["weights"].set_index(["model", "feature"])["weight"]
    for model in best:
        kept = model.model.coef[0]
        own = weights[model.penalty.kind]
        assert {comparison.names[j]: kept[j] for j in np.flatnonzero(kept)} == pytest.approx(own.to_dict())


def test_formulas_are_defused(comparison, best, texts):
    from cflengine.engine.files import frame_csv

    odd = ["=cmd()|x. " + text for text in texts]
    frame = sentences_frame(comparison, best[:1], odd)
    cells = pd.read_csv(io.BytesIO(frame_csv(frame)))["text"]
    assert not cells.str.startswith("=").any() and cells.str.startswith("'=cmd").any()


def test_selected_training_sentences_of_admm_are_those_of_its_copies(comparison, texts):
    settings = ADMMSettings(rho=1.0, max_iter=20)
    found = comparison.find_best("sentence", (1.0,), settings=settings, n_threads=1)
    frame = sentences_frame(comparison, [found], texts)
    copies = found.results[0].sentence_norms(comparison.data.groups)
    assert np.array_equal(frame.loc[frame["split"] == "train", "group_norm"], copies)


def test_chances_of_many_classes_are_those_of_the_predicted_one():
    texts, metadata = documents(90)
    metadata["mood"] = np.where(np.arange(90) % 3 == 0, "flat", metadata["mood"])
    labels = read_labels(metadata, "mood")
    comparison = prepare(texts, labels, split_documents(labels, metadata, test=0.2))
    found = comparison.find_best("sentence", (0.1,), n_threads=1)
    frame = predictions_frame(
        comparison, np.arange(90), found.model.predict(comparison.X), found.model.probabilities(comparison.X)
    )
    assert found.model.coef.shape[0] == 3 and frame["probability"].between(1 / 3, 1).all()
    assert set(sentence_weights(comparison, [found])["class"]) == {"down", "flat", "up"}


def test_paired_test_is_the_sign_test():
    right = np.array([True] * 12 + [False] * 2)
    wrong = np.array([False] * 8 + [True] * 6)
    # 8 documents that only the first, 2 that only the second gets right
    assert paired_test(right, wrong) == pytest.approx(2 * (1 + 10 + 45) / 2**10)
    assert paired_test(right, right) == 1.0
