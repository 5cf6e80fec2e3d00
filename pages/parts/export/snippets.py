"""What makes the same features again, and what goes on with them: a terminal, Python, scikit-learn, R."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from cflengine import CompressiveFeatures
from cflengine.text import DEFAULT_TOKEN_PATTERN, NEWSGROUPS, SAMPLE
from pages.parts.shared.commands import command_line as make_command
from pages.parts.shared.commands import reading_options
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.labels import label_columns
from pages.parts.shared.settings import in_digits


def _solving(settings: Any) -> dict[str, Any]:
    """The solver's settings that differ from their defaults, but for what only the app needs."""
    if settings is None:
        return {}
    usual = type(settings)()
    values = {f.name: (getattr(settings, f.name), getattr(usual, f.name)) for f in fields(settings)}
    return {name: value for name, (value, before) in values.items() if value != before and name != "keep_stages"}


def _code(settings: Any, used: set[str]) -> str:
    """Settings as a Python expression; the names of their classes go into ``used``."""
    used.add(type(settings).__name__)
    parts = [f"{n}={_code(v, used) if is_dataclass(v) else repr(v)}" for n, v in _solving(settings).items()]
    return f"{type(settings).__name__}({', '.join(parts)})"


def command_line(loaded: LoadedCorpus, model: CompressiveFeatures, weighting: str) -> str:
    """The ``cflengine compress`` call that writes these features."""
    options = {"lam": in_digits(model.lam), "max_gram": model.max_gram, "weighting": weighting}
    if model.counting != "pointers":
        options["counting"] = model.counting
    if model.counting == "soft":
        options["temperature"] = in_digits(model.temperature)
    if model.plain_cost is not None:
        options["plain_cost"] = in_digits(model.plain_cost)
    if model.solver != "guided":
        options["solver"] = model.solver
    solving = _solving(model.settings)
    solving |= _solving(solving.pop("homotopy", None))
    if "tol" in solving:
        solving["gap"] = solving.pop("tol")
    return make_command("compress", loaded, options | solving, "run")


def python_lines(loaded: LoadedCorpus, model: CompressiveFeatures, weighting: str) -> str:
    """The same in Python."""
    name = "read_input" if loaded.source in (SAMPLE, NEWSGROUPS) else "read_corpus"
    options = "".join(f", {name}={value!r}" for name, value in reading_options(loaded).items())
    imports, read = f"from cflengine import {name}\n", f"{name}({loaded.source!r}{options})"
    used: set[str] = set()
    settings = f", settings={_code(model.settings, used)}" if _solving(model.settings) else ""
    names = ", ".join(["CompressiveFeatures", *sorted(used)])
    solver = f", solver={model.solver!r}" if model.solver != "guided" else ""
    counting = f", counting={model.counting!r}" if model.counting != "pointers" else ""
    counting += f", temperature={in_digits(model.temperature)}" if model.counting == "soft" else ""
    if model.token_pattern != DEFAULT_TOKEN_PATTERN:
        counting += f", token_pattern={model.token_pattern!r}"
    if model.plain_cost is not None:
        counting += f", plain_cost={in_digits(model.plain_cost)}"
    if model.sentence_borders:
        counting += ", sentence_borders=True"
    if not model.lowercase:
        counting += ", lowercase=False"
    model_line = (
        f"CompressiveFeatures(lam={in_digits(model.lam)}, max_gram={model.max_gram}{solver}, weighting={weighting!r}"
        f"{counting}{settings})"
    )
    return (
        f"from cflengine import {names}\n{imports}\n"
        f"corpus = {read}\n"
        f"model = {model_line}\n"
        "features = model.fit_transform(corpus.texts)  # scipy CSR, documents × K-grams\n"
        "names = model.get_feature_names_out()\n"
        "print(model.result_.gap)  # proved: cost / lower bound - 1"
    )


def sklearn_lines(loaded: LoadedCorpus) -> str:
    """The model's file as the first step of a scikit-learn pipeline, which learns the likeliest labels."""
    text = str(reading_options(loaded).get("text_column") or "text")
    column = next(iter(label_columns(loaded.corpus.metadata)), "label")
    stripped = bool(reading_options(loaded).get("strip_html"))
    texts = f"new[{text!r}]" + (".map(without_html)" if stripped else "")
    return (
        "import pandas as pd\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import MaxAbsScaler\n"
        f"from cflengine import load_model{', without_html' if stripped else ''}\n\n"
        'features = load_model("k-grams.cflm")  # the dictionary, ready: new documents are counted with it\n'
        f'new = pd.read_csv("new.csv").dropna(subset={[text, column]!r})\n'
        f"X = features.transform({texts})  # scipy CSR, documents × K-grams\n"
        f"learn = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000)).fit(X, new[{column!r}])\n"
        "names = features.get_feature_names_out()"
    )


def r_lines(stem: str) -> str:
    """The Matrix Market file and the feature names in R. stem: of the file's name."""
    return (
        "library(Matrix)\n"
        f'X <- readMM("{stem}.mtx")               # documents x K-grams, sparse\n'
        'colnames(X) <- readLines("feature_names.txt", encoding = "UTF-8")\n'
        "head(sort(colSums(X), decreasing = TRUE), 20)\n\n"
        "# the long table instead, with your own columns joined\n"
        "library(arrow)\n"
        f'long <- read_parquet("{stem}.parquet")'
    )
