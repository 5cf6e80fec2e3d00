"""A run of ``cflengine sentences``, checked: documents cut again, and what every model says of words and sentences."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from cflengine.engine.gaps import relative_gap
from cflengine.linear.labels import row_classes
from cflengine.linear.model import LinearModel
from cflengine.linear.one_vs_rest import class_signs
from cflengine.linear.saving import Parts, read_model, under
from cflengine.sentence_lasso.model.certificate import dual_bound, objective_at
from cflengine.sentence_lasso.model.penalties import PENALTIES, Penalty, TrainingData
from cflengine.sentence_lasso.relevance import relevance_table
from cflengine.sentence_lasso.sentences import GramFeatures, SentenceTable, WordFeatures, cut_sentences
from cflengine.verify.answers import (
    AnsweredDocuments,
    check_column,
    check_sentences,
    check_weights,
    parts_of,
)
from cflengine.verify.findings import (
    Finding,
    check_table,
    close,
    proof_array,
    read_proof,
    require,
    require_gap_of,
    require_same,
    rows_of,
    with_progress,
)
from cflengine.verify.learners import checked_fit, labelled, worst
from cflengine.verify.models import about_run, check_claims, check_grams, check_intercepts, check_words, named_features

_LAMS = ("lam_sen", "lam_las", "lam_rid")


def verify_sentences(folder: Path, report: dict[str, Any], corpus: Any) -> Finding:
    """Check it. Raises FalseResult."""
    arguments, proof = report["arguments"], read_proof(folder)
    labels, split = labelled(report, corpus, dev=arguments["dev_split"])
    documents, part = parts_of(split)
    train = np.flatnonzero(part == "train")
    groups, by_length = arguments.get("groups", "sentence"), arguments.get("group_weights") == "length"
    reader = _reader(folder, report, [corpus.texts[d] for d in documents[train].tolist()], proof)
    texts = [corpus.texts[d] for d in documents.tolist()]
    table = cut_sentences(texts, reader.find(texts), len(reader.names()), arguments["language"], groups)
    own = table.documents(train)
    data = TrainingData(own.by_document(), own.counts, by_length=by_length)
    require_same(report.get("n_features"), data.X.shape[1], "the number of features is")
    require_same(report.get("n_sentences"), data.counts.shape[0], "the number of training sentences is")
    signs = class_signs(labels.y[documents][train], len(labels.classes))
    found: list[tuple[float, float]] = []
    models: dict[str, LinearModel] = {}
    for i, said in enumerate(with_progress(report["models"], "certifying models", "models")):
        penalty = Penalty(**_parameters(said))
        own_fits, model = _proved(said, penalty, data, signs, proof, str(i))
        found += own_fits
        require_gap_of(said["gap"], max(relative_gap(*pair) for pair in own_fits))
        path = folder / f"{penalty.kind}.cflm"
        own_groups = (groups, "length" if by_length else "equal")
        header = _check_sentence_model(path, said, model, labels, own_groups)
        reads = {"language": arguments["language"]} | _check_reader(path, folder, report, reader)
        check_claims(path, header, own_fits, len(train), about_run(report), **penalty.of_estimator, **reads)
        _check_asked(arguments, said, penalty)
        models[penalty.kind] = model
    columns = [name for name in _LAMS if any(name in said for said in report["models"])]
    columns += ["gap", "features", "model_size", "accuracy", "dev_accuracy"]
    rows = [dict.fromkeys(_LAMS) | said for said in report["models"]]
    check_table(folder / "models.csv", rows, tuple(columns))
    kinds = [said["penalty"] for said in report["models"]]
    check_column(rows_of(folder / "models.csv"), "penalty", kinds, "models.csv")
    _check_best(folder / "grid.csv", report["models"])
    _check_weights(folder / "weights.csv", models, reader.names(), labels, data)
    answered = AnsweredDocuments.placed(corpus, split, table.by_document())
    _check_documents(folder, report, answered, models, labels)
    notes = _check_sentences(folder, report, corpus, labels, (documents, part), table, models)
    checked: tuple[str, ...] = (
        f"{len(train):,} training documents, {data.counts.shape[0]:,} {groups}s; {named_features(report)}",
        f"{len(found)} certified fits of {len(report['models'])} models",
        f"weights.csv; documents.csv: {len(documents):,} predictions; sentences.csv: {len(table):,} {groups}s",
    )
    checked += _check_grid(folder / "grid.csv", arguments, kinds)
    notes += ("grid.csv but for λ and accuracy of the best of each penalty: the weights of the others are not kept",)
    return worst("sentence models", found, checked, notes)


def _reader(
    folder: Path, report: dict[str, Any], texts: list[str], proof: dict[str, np.ndarray]
) -> WordFeatures | GramFeatures:
    """What finds the features of the run, those of its training documents' texts: words, or the K-grams of its first
    model, which are checked."""
    arguments = report["arguments"]
    if arguments["features"] == "words":
        words = WordFeatures(report["token_pattern"], not arguments["keep_case"], plain=True)
        words.fit(texts)
        return words
    first = _first_model(folder, report)
    return GramFeatures(check_grams(first.name, _reads(first), report, texts, proof))


def _first_model(folder: Path, report: dict[str, Any]) -> Path:
    return folder / f"{report['models'][0]['penalty']}.cflm"


def _reads(path: Path) -> Parts:
    """What a model finds its features by: header and arrays."""
    header, arrays = read_model(path)
    return header["reads"], under(arrays, "features")


def _check_reader(
    path: Path, folder: Path, report: dict[str, Any], reader: WordFeatures | GramFeatures
) -> dict[str, Any]:
    """A model finds the features that the run did; its parameters that say so of words."""
    header, arrays = _reads(path)
    if isinstance(reader, WordFeatures):
        check_words(path, header, reader)
        return {"token_pattern": reader.token_pattern, "lowercase": reader.lowercase}
    first, own = _reads(_first_model(folder, report))
    same = header == first and arrays.keys() == own.keys()
    same = same and all(np.array_equal(values, own[name]) for name, values in arrays.items())
    require(same, f"{path.name} finds other K-grams than the run's first model.")
    return {}


def _proved(
    said: dict[str, Any],
    penalty: Penalty,
    data: TrainingData,
    signs: list[np.ndarray],
    proof: dict[str, np.ndarray],
    number: str,
) -> tuple[list[tuple[float, float]], LinearModel]:
    """Objective and bound of each row of a model, and the model."""
    require(len(said["results"]) == len(signs), "a model has not one result for each problem.")
    found, weights, biases = [], [], []
    for r, (fit, sign) in enumerate(zip(said["results"], signs, strict=True)):
        problem = data.problem(sign, penalty)
        w, bias, alpha, u = (
            proof_array(proof, f"{name}_{number}_{r}") for name in ("w", "bias", "alpha", "multipliers")
        )
        require(w.shape == (problem.n_features,), "there is not one weight for every feature.")
        require(alpha.shape == sign.shape and u.shape == problem.groups.feature.shape, "dual points of another size.")
        objective = objective_at(problem, w, float(bias))
        require_same(fit["bias"], float(bias), "the intercept of a fit is")
        require_same(fit["support"], int(np.count_nonzero(w)), "weights of a fit that are not 0 are")
        found.append(checked_fit(fit, objective, max(dual_bound(problem, alpha, u, objective)[0], 0.0)))
        weights.append(w)
        biases.append(float(bias))
    return found, LinearModel(np.array(weights), np.array(biases))


def _check_sentence_model(
    path: Path, said: dict[str, Any], model: LinearModel, labels: Any, groups: tuple[str, str]
) -> dict[str, Any]:
    """The file of a model holds the weights that were proved, and cuts texts into the groups of the run. Its header."""
    header, arrays = read_model(path, "sentence lasso" if path.stem == "sentence" else "penalised")
    coef, intercept = arrays["coef"], arrays["intercept"]
    same = np.array_equal(coef, model.coef) and np.array_equal(intercept, model.intercept)
    require(same, f"{path.name} holds other weights than those that were proved.")
    require(header["classes"] == list(labels.classes), f"the classes of {path.name} are not those of the labels.")
    if path.stem == "sentence":
        given = header["parameters"]
        own = (given.get("groups", "sentence"), given.get("group_weights", "equal"))
        require(own == groups, f"{path.name} has other groups than the run.")
        require(given.get("loss", "log") == "log", f"{path.name} has another loss than the run.")
    check_intercepts(list(said["intercepts"].values()), intercept)
    require_same(said["features"], model.size, "features with a weight are")
    require_same(said["model_size"], model.size / coef.shape[1], "the share of features with a weight is")
    return header


def _asked(arguments: dict[str, Any], name: str) -> list[float]:
    """The values of a regularisation parameter that were to be tried."""
    values = arguments.get(name) or arguments["grid"]
    return list(map(float, values if isinstance(values, list) else [values]))


def _is_among(value: float, values: list[float]) -> bool:
    return any(close(value, one) for one in values)


def _check_asked(arguments: dict[str, Any], said: dict[str, Any], penalty: Penalty) -> None:
    """The regularisation parameters are among those that were asked for, and every fit has them."""
    for name, value in penalty.parameters.items():
        require(
            _is_among(value, _asked(arguments, name)),
            f"{name} of the penalty {penalty.kind!r} is {value!r}, which was not asked for.",
        )
        for fit in said["results"]:
            require_same(fit["settings"].get(name, value), value, f"{name} of a fit is")


def _check_best(path: Path, models: list[dict[str, Any]]) -> None:
    """Of every penalty the best of grid.csv was taken, and its accuracy on the development set is what is said."""
    grid = rows_of(path)
    for said in models:
        own = [row for row in grid if row["penalty"] == said["penalty"]]
        best = max((float(row["accuracy"]) for row in own), default=math.nan)
        taken = any(
            close(float(row["accuracy"]), best)
            and all(row.get(name, "") == ("" if said.get(name) is None else str(said[name])) for name in _LAMS)
            for row in own
        )
        is_said = isinstance(said["dev_accuracy"], float) and close(said["dev_accuracy"], best)
        require(taken and is_said, f"the model of penalty {said['penalty']!r} is not the best of grid.csv.")


def _check_grid(path: Path, arguments: dict[str, Any], kinds: list[str]) -> tuple[str, ...]:
    """grid.csv has models of the grid that was asked for, each once; how many of how many, by penalty."""
    rows, said = rows_of(path), []
    for kind in kinds:
        asked = {name: _asked(arguments, name) for name in PENALTIES[kind]}
        tried = [tuple(float(row[name]) for name in asked) for row in rows if row["penalty"] == kind]
        among = all(_is_among(*pair) for one in tried for pair in zip(one, asked.values(), strict=True))
        require(among, f"grid.csv has a model of penalty {kind!r} that was not asked for.")
        require(len(set(tried)) == len(tried), f"grid.csv has a model of penalty {kind!r} twice.")
        whole = math.prod(len(set(values)) for values in asked.values())
        said.append(f"{len(tried)} of {whole} models of penalty {kind!r}")
    require({row["penalty"] for row in rows} == set(kinds), "grid.csv has other penalties than the report.")
    return (f"λ of grid.csv: {', '.join(said)}",)


def _check_weights(
    path: Path, models: dict[str, LinearModel], names: list[str], labels: Any, data: TrainingData
) -> None:
    rows = rows_of(path)
    known = {row["model"] for row in rows} <= models.keys()
    require(known, "weights.csv has weights of a model that the run has not.")
    for kind, model in models.items():
        own = [row for row in rows if row["model"] == kind]
        classes = row_classes(labels.classes, len(model.coef))
        check_weights(own, model.coef, classes, names, occurrences=data.occurrences)


def _check_documents(
    folder: Path, report: dict[str, Any], answered: AnsweredDocuments, models: dict[str, LinearModel], labels: Any
) -> None:
    """Predictions of the first model, and which share of the test documents every model gets right."""
    y = labels.y[answered.documents]
    first = next(iter(models.values()))
    answered.check_classes(folder / "documents.csv", labels.classes, y, first.probabilities(answered.X))
    for said, model in zip(report["models"], models.values(), strict=True):
        right = model.predict(answered.X) == y
        shares = {"test": said["accuracy"], "dev": said["dev_accuracy"]}
        answered.check_shares(shares, right, f"share of right ones by {said['penalty']}")


def _check_sentences(
    folder: Path, report: dict[str, Any], corpus: Any, labels: Any, where: tuple[np.ndarray, np.ndarray],
    table: SentenceTable, models: dict[str, LinearModel],
) -> tuple[str, ...]:  # fmt: skip
    """sentences.csv; what could not be checked. where: documents and their parts."""
    documents, part = where
    classes, y = np.array(labels.classes, dtype=object), labels.y[documents]
    tables = {kind: relevance_table(table, model, y, classes) for kind, model in models.items()}
    found = next(iter(tables.values())).drop(columns="log_odds")
    found["document"] = documents[found["document"]]
    for kind, one in tables.items():
        found[f"log_odds_{kind}"] = one["log_odds"]
    copied = report["arguments"].get("solver") == "admm" and next(iter(models)) == "sentence"
    texts = {d: corpus.texts[d] for d in documents.tolist()}
    check_sentences(folder / "sentences.csv", found, texts, part[table.document].tolist(), copied=copied)
    return ("norms of training sentences in sentences.csv: ADMM's copies are not kept",) if copied else ()


def _parameters(model: dict[str, Any]) -> dict[str, Any]:
    return {"kind": model["penalty"]} | {name: float(model[name]) for name in _LAMS if model.get(name) is not None}
