"""``python -m benchmarks loglinear`` runs every section on small stand-ins for its corpora."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.evidence.loglinear import figure_parts
from benchmarks.evidence.page import Evidence
from benchmarks.loglinear import tasks as loglinear_tasks

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory) -> Path:
    """A folder with the three corpora in small, made of invented words."""
    folder = tmp_path_factory.mktemp("data")
    generator = np.random.default_rng(0)
    words = [f"w{k}" for k in range(600)]

    def text(topic: int) -> str:
        own = words[20 * topic : 20 * topic + 20]
        return " ".join(generator.choice(words, 15).tolist() + generator.choice(own, 4).tolist())

    names = loglinear_tasks.CLASSES
    reuters = [
        {"text": text(k % 6), "topics": [names[k % 6]], "split": ("train", "test")[k % 10 == 9]} for k in range(500)
    ]
    movies = [{"text": text(k % 2), "label": "ab"[k % 2]} for k in range(200)]
    for name, documents in (("reuters21578", reuters), ("movie_polarity_v2", movies)):
        (folder / name).mkdir()
        with gzip.open(folder / name / "docs.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(one) + "\n" for one in documents)
    (folder / "conll2003").mkdir()
    tagged = (ROOT / "sample_data" / "tagged.conll").read_bytes()
    for part in ("train", "testa", "testb"):
        (folder / "conll2003" / f"eng.{part}.gz").write_bytes(gzip.compress(tagged))
    return folder


def test_every_section_prints_its_table(corpora, capsys, tmp_path):
    file = tmp_path / "figures.json"
    options = ["--quick", "--limit", "2", "--data", str(corpora), "--json", str(file)]
    assert main(["loglinear", *options]) == 0
    said = capsys.readouterr().out
    headings = [f"== {name} ==" for name in ("logistic", "scheme", "dense", "crf", "parsimony", "figures")]
    rows = ["auto / best", "random, rounds 2", "clusters over bfgs", "lbfgs, one thread", "F1 by different weights"]
    assert all(words in said for words in headings + rows)
    figures = json.loads(file.read_text())["corpora"]
    scheme = figures["scheme: money-fx 0.1"]
    assert scheme["plain"]["passes"][1] <= scheme["plain"]["passes"][2]
    assert figures["crf: paper's features"]["lbfgs, all threads"]["gap"] <= 1e-6
    for name in ("money-fx", "CoNLL-2003, testb"):
        tied = figures[f"parsimony: {name}"]
        assert tied["128"] == pytest.approx(tied["0"], abs=10)
    drawn = {name: one for name, one in figures.items() if name.startswith("figures: ")}
    for name in ("scheme, money-fx 1e-07", "scheme, named entities"):
        plain, scheme = drawn[f"figures: {name}"]["plain"], drawn[f"figures: {name}"]["clustered"]
        assert plain["coarse steps"] == 0 < scheme["coarse steps"] and plain["passes"] == sorted(plain["passes"])
        assert 0 < scheme["clustering_s"] < scheme["coarse_s"]
    page = "\n".join(line for part in figure_parts(Evidence({"corpora": drawn})) for line in part.lines())
    assert all(figure in page for figure in ("Figures 2, 3", "Figures 6 and 7", "Table IV", "Figures 12 and 13"))


def test_nothing_to_measure_and_wrong_names(tmp_path, capsys):
    assert main(["loglinear", "--data", str(tmp_path), "--quick"]) == 2
    assert "CFLENGINE_DATA" in capsys.readouterr().err
    assert main(["loglinear", "--sections", "nothing"]) == 2
    assert "no section nothing" in capsys.readouterr().err
