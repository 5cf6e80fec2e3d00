"""The benchmarks run and print every figure; what they measure is not judged here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.compression import scale
from benchmarks.compression import speed as compression
from benchmarks.compression.generated import generate
from benchmarks.evidence import compression as evidence_of_compression
from benchmarks.evidence import scale as evidence_of_scale
from benchmarks.evidence import sentence_lasso as evidence_of_sentences
from benchmarks.evidence.page import DOES_NOT, HOLDS, Evidence
from benchmarks.measure import Times, in_turns, memory_of
from benchmarks.sentence_lasso import groups, tasks
from cflengine.text import index_kgrams

ROOT = Path(__file__).resolve().parents[2]


def test_compression_prints_every_figure(tmp_path, capsys):
    file = tmp_path / "figures.json"
    options = ["--corpora", "sample", "--quick", "--homotopy", "--linear", "--json", str(file)]
    assert main(["compression", *options]) == 0
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert "numba threads" in lines[0] and "load average" in lines[0]
    everything = json.loads(file.read_text(encoding="utf-8"))
    figures = everything["corpora"]["sample"]
    for section in compression.SECTIONS:
        assert section.title in lines
        for figure in section.figures:
            row = next(line for line in lines[lines.index(section.title) :] if line.startswith(figure.label))
            assert figure.text(figures) in row and figure.target in row
            assert np.all(np.isfinite(figures[figure.key])), figure.key
    assert figures["bound"] <= figures["value"] <= figures["bound"] * (1 + compression.RELAXATION_GAP)
    assert str(ROOT) not in said + file.read_text(encoding="utf-8")


def test_absent_corpora_are_named(tmp_path, capsys):
    assert main(["compression", "--corpora", "nowhere", "--data", str(tmp_path)]) == 2
    assert "CFLENGINE_DATA" in capsys.readouterr().err


def test_help_lists_the_benchmarks(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "compression" in capsys.readouterr().out


def test_turns_and_ratio():
    calls = []
    times = in_turns({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, run=2, turns=3, seconds=0)
    assert "".join(calls) == "aabb" * 3
    assert times["a"].clock.shape == times["b"].cpu.shape == (3, 2)
    # the machine is ten times slower in the second turn: the ratio does not notice
    twice, once = np.array([[2.0], [20.0], [2.0]]), np.array([[1.0], [10.0], [1.0]])
    assert Times(twice, 2 * twice).over(Times(once, once)) == 2.0
    assert Times(twice, 2 * twice).cores == 2.0


def test_subsets_are_nested_whole_documents():
    doc_ptr = np.arange(0, 1001, 5)
    tokens = np.repeat(np.arange(200, dtype=np.int32), 5)
    tenth, three_tenths, everything = compression.nested_subsets(tokens, doc_ptr)
    assert [len(subset[0]) for subset in (tenth, three_tenths, everything)] == [100, 300, 1000]
    for part, whole in ((tenth, three_tenths), (three_tenths, everything)):
        assert np.array_equal(part[0], whole[0][: len(part[0])])
        assert np.array_equal(part[1], whole[1][: len(part[1])])
    assert np.array_equal(np.sort(everything[0]), tokens)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak comes from getrusage")
def test_a_large_parent_does_not_count():
    burden = np.ones(25_000_000)
    source = str(ROOT / "sample_data" / "reviews.csv")
    facts = memory_of(
        "benchmarks.compression.speed:compress_briefly",
        source=source, limit=20, max_gram=2, lam=1.0, n_threads=1, last_zeta=0.0,
    )  # fmt: skip
    assert facts["tokens"] > 0
    assert facts["baseline"] <= facts["peak"] < facts["baseline"] + burden.nbytes // 4


def test_plq_is_measured(tmp_path, capsys):
    out = tmp_path / "plq.json"
    assert main(["plq", "--quick", "--sections", "dense,fair,scaling", "--json", str(out)]) == 0
    written = json.loads(out.read_text())
    figures, versions = written["corpora"], written["machine"]["versions"]
    assert {"numpy", "scipy", "scikit-learn"} <= set(versions) and all(versions.values())
    scaling = figures.pop("scaling")
    assert len(figures) == 11 and all(one["gap_of_bound"] <= 1e-6 for one in figures.values())
    assert all(one["ours"]["1e-06"] > 0 for one in figures.values())
    assert all(len(scaling[form]["seconds_a_pass"]) == 4 for form in ("dense", "sparse"))
    pure, carried = (scaling["convergence"][name] for name in ("pure", "primal-dual"))
    assert pure["sweeps"] == carried["sweeps"] and pure["operations"] > carried["operations"]
    assert 0 < carried["gap_a_sweep"] < 1 and "SVM, 2,000 × 18" in capsys.readouterr().out


def test_tables_of_the_sentence_paper_are_judged_by_its_own_claims():
    def task(ours: dict[str, float], paper: dict[str, float]) -> dict:
        rows = {
            name: [
                {"accuracy": a + d, "size": 100 if name == "ridge" else 9, "gap": 1e-5, "seconds": 1.0} for d in (0, 1)
            ]
            for name, a in ours.items()
        }
        sizes = {"D": 1_000, "dev": 1, "test": 2, "V": 3, "sentences": 4, "most_frequent": 50.0}
        return {"table1": sizes, "paper": {"accuracy": paper, "size": {"lasso": 1}}, "models": rows}

    names = ("lasso", "ridge", "elastic", "frequency", "sentence")
    first = task(dict(zip(names, (80, 90, 91, 92, 90.5), strict=True)), dict.fromkeys(names, 80) | {"sentence": 96})
    second = task(dict(zip(names, (80, 81, 82, 83, 85), strict=True)), dict.fromkeys(names, 88) | {"sentence": 84})
    together = {
        "accuracy": dict(zip(names, (80, 86, 87, 88, 89), strict=True)),
        "p": {"lasso": 1e-9, "ridge": 0.001, "elastic": 0.2, "frequency": 0.5},
    }
    cases = {"tables: first": first, "tables: second": second, "tables: all": together}
    one, two = evidence_of_sentences.parts(Evidence({"corpora": cases}))
    assert one.rows[0] == ("first", "1,000", "1", "2", "3", "4", "50.00 %") and len(two.rows) == 2 * len(names)
    assert two.rows[0] == ("first", "lasso", "80.50 ± 0.71 (80)", "9.0 (1)", "1e-05", "1")
    assert [(claim.found.split(";")[0], claim.verdict) for claim in two.claims] == [
        ("2 of 2", "holds"), ("2 of 2", "holds"), ("1 of 2", "holds"),
        ("89.00 %, 80.00 %, 86.00 %, 87.00 %", "in part"), ("9 %", "holds"), ("88.00 %", ""),
    ]  # fmt: skip
    assert "1 of these 2" in two.claims[0].said
    assert "first split 87.75 %, 80.00 %, 85.50 %, 86.50 %, p = 1e-09, 0.001, 0.2" in two.claims[3].found


def test_other_groups_than_sentences_are_measured_and_told(monkeypatch):
    rng = np.random.default_rng(0)
    texts = [
        " ".join(rng.choice(["the", "beer,", "of", "it."], 9)) + (" good." if k % 2 else " bad.") for k in range(80)
    ]
    frame = pd.DataFrame({"label": ["up" if k % 2 else "down" for k in range(80)]})
    monkeypatch.setattr(tasks, "load", lambda task, data: (texts, frame))
    monkeypatch.setattr(tasks, "TASKS", [task for task in tasks.TASKS if not task.by_date][:1])
    said: list[str] = []
    found = groups.measure([], None, 60.0, True, said.append)
    (name, *_), n = found, len(groups.CASES)
    assert len(said) == len(found[name]["rows"]) == len(found["all"]["rows"]) == n == 8
    by_unit = {row["groups"]: row["n_groups"] for row in found[name]["rows"]}
    assert by_unit["clause"] > by_unit["sentence"] > by_unit["document"]
    assert all(row["gap"] <= 1e-4 and 0 <= row["selected"] <= 100 for row in found[name]["rows"])
    assert groups.show(found).count("\n") == 2 * n
    (part,) = evidence_of_sentences.group_parts(Evidence({"corpora": {f"groups: {k}": v for k, v in found.items()}}))
    assert len(part.rows) == n and len(part.claims) == n - 1 and all(len(row) == len(part.head) for row in part.rows)


@pytest.mark.parametrize(
    ("homotopy", "reweighting", "found", "verdict"),
    [
        ((10.0, "converged", 0.004), (30.0, "converged", 0.004), "a: 3.0 times", "holds"),
        ((10.0, "converged", 0.004), (5.0, "converged", 0.004), "a: 0.5 times", "does not hold"),
        ((60.0, "time limit", 0.02), (60.0, "time limit", 0.01), "both at their limit, 2.00 % and 1.00 %", "does not"),
        ((60.0, "time limit", 0.01), (60.0, "time limit", 0.02), "both at their limit", "holds"),
    ],
)
def test_table_3_has_its_verdicts_also_where_a_limit_ended_both(homotopy, reweighting, found, verdict):
    def row(seconds: float, reason: str, gap: float) -> dict:
        return {"seconds": seconds, "reason": reason, "gap": gap, "steps": 7}

    solvers = {"homotopy": row(*homotopy), "reweighting": row(*reweighting)}
    (part,) = evidence_of_compression.parts(Evidence({"corpora": {"solvers: a": {"solvers": solvers}}}))
    assert found in part.claims[0].found and part.claims[0].verdict.startswith(verdict)
    assert len(part.claims) == 2 and part.claims[1].verdict


def test_the_page_of_results_is_what_the_results_say(capsys):
    assert main(["report", "--check"]) == 0, "run python -m benchmarks report"
    assert "up to date" in capsys.readouterr().out


def test_generated_corpora_are_as_long_as_asked_for_and_have_phrases():
    tokens, doc_ptr = generate(200_000, seed=3)
    again, _ = generate(200_000, seed=3)
    np.testing.assert_array_equal(tokens, again)
    assert len(tokens) == doc_ptr[-1] == 200_000 and doc_ptr[0] == 0 and np.all(np.diff(doc_ptr) > 0)
    assert tokens.min() == 0 and not np.array_equal(tokens, generate(200_000, seed=4)[0])
    index = index_kgrams(tokens, doc_ptr, 3)
    assert 0.35 < index.n_grams / len(tokens) < 0.75
    shuffled = index_kgrams(np.random.default_rng(0).permutation(tokens), doc_ptr, 3)
    assert index.n_grams < 0.7 * shuffled.n_grams  # what is planted comes back


def test_shards_are_measured_beside_the_guided_solver(monkeypatch):
    monkeypatch.setattr(scale, "_on_workers", lambda *_, **__: None)
    index = index_kgrams(*generate(2_000), 3)
    found = scale.measure_shards(index, SimpleNamespace(quick=True, threads=None, scratch=None))
    shown = scale.show_shards(found)
    assert all(name in shown for name in ("guided", "2 shards", "8 shards"))
    assert found["runs"]["4 shards"]["ratio"] < 1.1 and found["runs"]["4 shards"]["exchanged_bytes"] > 0
    evidence = Evidence({"corpora": {"shards": found}, "options": {"corpus": "x"}})
    claims = evidence_of_scale.parts(evidence)[0].claims
    assert len(claims) == 3 and claims[2].verdict == HOLDS
    found["runs"]["4 shards, 1 worker"] = found["runs"]["2 shards"]
    assert evidence_of_scale.parts(evidence)[0].claims[1].verdict == DOES_NOT


def test_sizes_are_measured_in_processes_of_their_own(capsys):
    assert main(["scale", "--sections", "sizes", "--quick", "--shards", "2"]) == 0
    assert "to the power of" in capsys.readouterr().out
