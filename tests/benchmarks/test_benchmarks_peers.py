"""The comparison with peers judges every answer alike, of any peer; peers that are not installed are skipped."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog

import benchmarks.__main__ as benchmarks_main
from benchmarks.compression.peers import alphabet, lam_path, lp, ours, relaxation, solvers, vocabularies
from benchmarks.compression.peers import command as compression_peers
from benchmarks.compression.peers.cases import LETTERS, Case, Context, megabytes, quick_case
from benchmarks.compression.peers.runner import ABSENT, DONE, FAILED, KILLED, Answer, run_peer
from benchmarks.evidence.compression import path_parts, trial_parts
from benchmarks.evidence.page import Evidence
from cflengine.compression.model.problem import coverage_matrix
from cflengine.text.tokens import Tokenizer
from naive.corpora import SMALL, costs_by_kind, costs_of, index_of, repeated_phrases
from naive.programs import solve_relaxation


def solve(programme: dict[str, np.ndarray]):
    """x and the rows' duals of the linear programme, by scipy's HiGHS."""
    parts = (programme["data"], programme["indices"], programme["indptr"])
    matrix = sparse.csc_matrix(parts, shape=tuple(programme["shape"]))
    solution = linprog(
        programme["cost"], A_ub=-matrix, b_ub=-programme["row_lower"], bounds=(0, 1), method="highs"
    )  # fmt: skip
    assert solution.status == 0
    return solution.fun, solution.x, -solution.ineqlin.marginals


# the linear programme and the judge


@pytest.mark.parametrize("kind", SMALL)
def test_programme_is_the_relaxation_and_its_optimum_is_recognised(kind):
    index = index_of(SMALL[kind])
    for costs in costs_by_kind(index).values():
        programme = lp.linear_programme(index, costs)
        value, x, y = solve(programme)
        assert value == pytest.approx(solve_relaxation(index, costs).value, rel=1e-6, abs=1e-9)
        assert programme["shape"][0] == index.n_tokens + (index.counts()[index.gram_of[index.gram_of >= 0]] > 1).sum()
        n, m = index.n_tokens, index.n_pointers
        assert lp.proved_bound(index, costs, y[:n]) == pytest.approx(value, rel=1e-5, abs=1e-6)
        assert lp.proved_value(index, costs, x[:m]) == pytest.approx(value, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.3, 3.0])
@pytest.mark.parametrize("kind", ["random words", "repeated phrases", "documents between empty ones"])
def test_any_answer_is_judged_on_the_right_side(kind, noise):
    index = index_of(SMALL[kind])
    rng = np.random.default_rng(0)
    for costs in (costs_of(index), costs_of(index, 0.3)):
        value, x, y = solve(lp.linear_programme(index, costs))
        x = x[: index.n_pointers] * rng.uniform(1 - min(noise, 1), 1 + noise, index.n_pointers)
        y = y[: index.n_tokens] + rng.normal(0, noise, index.n_tokens)
        assert 0 < lp.proved_bound(index, costs, y) <= value * (1 + 1e-6)
        assert lp.proved_value(index, costs, x) >= value * (1 - 1e-9)


def test_no_answer_at_all_is_single_words():
    index = index_of(SMALL["random words"])
    costs = costs_of(index)
    assert lp.proved_value(index, costs, np.zeros(index.n_pointers)) == index.n_tokens + index.len_ptr[1]
    assert lp.proved_bound(index, costs, np.zeros(index.n_tokens)) > 0


def test_coverage_of_the_judge_is_that_of_the_problem():
    index = index_of(SMALL["documents between empty ones"])
    w = np.random.default_rng(0).random(index.gram_of.shape) * (index.gram_of >= 0)
    np.testing.assert_allclose(lp._cover(w), coverage_matrix(index.gram_of) @ w.ravel())


# the runner

TASKS = """
import time
import numpy as np

def echo(problem, n_threads, **options):
    return {"sum": float(problem["a"].sum()), "threads": n_threads, **options}, {"twice": 2 * problem["a"]}

def sleep(problem, **options):
    time.sleep(60)

def crash(problem, **options):
    raise ValueError("no such luck")

def burden(problem, **options):
    return {"size": int(np.ones(30_000_000).sum())}, {}
"""


@pytest.fixture
def tasks(tmp_path, monkeypatch) -> Path:
    """Tasks that a child can import; the file of their problem."""
    (tmp_path / "some_tasks.py").write_text(TASKS, encoding="utf-8")
    (tmp_path / "other_tasks.py").write_text("import no_such_package\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    np.savez(tmp_path / "problem.npz", a=np.arange(4.0))
    return tmp_path / "problem.npz"


def test_a_task_gets_its_problem_and_answers(tasks):
    answer = run_peer("some_tasks:echo", tasks, kill_after=60, n_threads=2, shade="blue")
    assert answer.status == DONE and answer.done
    assert (answer.facts["sum"], answer.facts["threads"], answer.facts["shade"]) == (6.0, 2, "blue")
    np.testing.assert_array_equal(answer.arrays["twice"], [0, 2, 4, 6])


def test_peak_memory_is_the_childs_own(tasks):
    burden = np.ones(25_000_000)
    small = run_peer("some_tasks:echo", tasks, kill_after=60, n_threads=1)
    large = run_peer("some_tasks:burden", tasks, kill_after=60, n_threads=1)
    assert megabytes(small) < 100 < burden.nbytes / 1e6
    assert 230 < megabytes(large) < 400


def test_a_slow_child_is_killed(tasks):
    answer = run_peer("some_tasks:sleep", tasks, kill_after=2.0, n_threads=1)
    assert answer.status == KILLED and 2 <= answer.facts["seconds"] < 30 and answer.facts["peak"] > 1e6


def test_errors_and_missing_packages_are_told_apart(tasks):
    answer = run_peer("some_tasks:crash", tasks, kill_after=60, n_threads=1)
    assert answer.status == FAILED and "no such luck" in answer.note
    answer = run_peer("other_tasks:echo", tasks, kill_after=60, n_threads=1)
    assert answer.status == ABSENT and "no_such_package" in answer.note


# words as letters


def test_words_survive_as_letters():
    corpus = {"tokens": np.array([0, 1, 2, 1, 0, 69999], np.int32), "doc_ptr": np.array([0, 3, 3, 6])}
    corpus["n_types"] = np.array(70_000)  # past the end of a plane, where two code points are no characters
    texts = alphabet.documents(corpus)
    assert [len(text) for text in texts] == [3, 3]
    pieces = [[texts[0][:2], "<unk>", "", texts[1][2], "a" + texts[0][0]], [texts[1]]]
    arrays = alphabet.dictionaries(pieces, 70_000)
    assert arrays["tokens_0"].tolist() == [0, 1, 69999] and arrays["ptr_0"].tolist() == [0, 2, 3]
    assert arrays["tokens_1"].tolist() == [1, 0, 69999] and arrays["ptr_1"].tolist() == [0, 3]
    assert len(set(alphabet.spell(np.arange(70_000), 70_000))) == 70_000
    alphabet.spell(np.arange(70_000), 70_000).encode("utf-8")
    with pytest.raises(ValueError, match="code points"):
        alphabet.spell(np.zeros(1, np.int32), 2_000_000)


# peers that are installed


def has(package: str):
    """Skips the test where the package is not installed."""
    return pytest.mark.skipif(find_spec(package) is None, reason=f"{package} is not installed")


PACKAGES = {"pdlp": "ortools", "highs": "highspy"}


def lp_peers():
    for name, (task, options, _) in relaxation.PEERS.items():
        package = PACKAGES[task.split(".")[-1].split(":")[0]]
        yield pytest.param(task, options, id=name, marks=has(package))


@pytest.mark.parametrize(("task", "options"), list(lp_peers()))
def test_a_solver_solves_the_relaxation(task, options, tmp_path):
    index = index_of(SMALL["repeated phrases"])
    costs = costs_of(index)
    np.savez(tmp_path / "programme.npz", **lp.linear_programme(index, costs))
    options = options | {"tolerance": 1e-5, "limit": 30.0}
    answer = run_peer(task, tmp_path / "programme.npz", kill_after=60, n_threads=1, **options)
    assert answer.status == DONE, answer
    run = relaxation._judged(answer, 1e-5, index, costs)
    optimum = solve_relaxation(index, costs).value
    assert run["bound"] <= optimum * (1 + 1e-9) and optimum * (1 - 1e-9) <= run["value"]
    assert -1e-9 <= run["gap"] < 1e-3 and run["claimed_gap"] < 1e-3


PACKAGE_OF_TOOL = {
    "hugging_face": "tokenizers",
    "sentence_piece": "sentencepiece",
    "greedtok": "pcatt",
    "gensim_phrases": "gensim",
}


def tools():
    for name, (task, options) in vocabularies.TOOLS.items():
        package = PACKAGE_OF_TOOL[task.split(".")[-1].split(":")[0]]
        yield pytest.param(task, options, id=name, marks=has(package))


@pytest.mark.parametrize(("task", "options"), list(tools()))
def test_a_tool_finds_phrases_of_the_corpus(task, options, tmp_path):
    table = Tokenizer()(repeated_phrases(1, 60, 6))
    case = Case("phrases", "", 3)
    context = Context(None, 1, 30.0, True, lambda name: True, print, tmp_path)
    answer = context.run(task, context.corpus_file(case, table), **options)
    if answer.status == ABSENT:
        pytest.skip(answer.note)
    assert answer.status == DONE, answer
    index = index_of(repeated_phrases(1, 60, 6))
    costs = costs_of(index)
    assert len(answer.facts["settings"]) == len(options.get("sizes", vocabularies.GRID))
    for i in range(len(answer.facts["settings"])):
        gram = vocabularies.match_sequences(index, answer.arrays[f"tokens_{i}"], answer.arrays[f"ptr_{i}"])
        assert gram.min(initial=0) >= 0
    found = vocabularies._tool(answer, index, costs)
    words = index.n_tokens + index.len_ptr[1]
    assert found["cost"] < 0.7 * words and found["cost"] <= found["least_plain"] <= words
    assert found["setting"] and found["seconds"] >= 0


# the engine as a task


def corpus_of(texts: list[str], max_gram: int = 2) -> dict[str, np.ndarray]:
    table = Tokenizer()(texts)
    return {
        "tokens": table.tokens, "doc_ptr": table.doc_ptr, "max_gram": np.array(max_gram), "lam": np.array(1.0),
    }  # fmt: skip


def test_the_homotopy_as_a_task():
    texts = SMALL["repeated phrases"]
    index = index_of(texts, 2)
    optimum = solve_relaxation(index, costs_of(index)).value
    facts, arrays = ours.relaxation(corpus_of(texts), "homotopy", gap=1e-2, limit=30.0, n_threads=1)
    assert lp.proved_bound(index, costs_of(index), arrays["alpha"]) - 1e-6 <= optimum <= facts["value"] + 1e-3
    assert facts["claimed_gap"] <= 1e-2
    facts, arrays = ours.compress(corpus_of(texts), "homotopy", limit=30.0, n_threads=1, gap=1e-3)
    assert facts["lower_bound"] - 1e-6 <= optimum <= facts["objective"] + 1e-6
    assert len(arrays["cover"]) == index.n_tokens
    assert (facts["target_s"] is None) == (facts["gap"] > ours.TARGET_GAP)


@pytest.mark.parametrize("solver", ["guided", "reweighting"])
def test_the_other_solvers_as_tasks(solver):
    texts = SMALL["repeated phrases"]
    index = index_of(texts, 2)
    optimum = solve_relaxation(index, costs_of(index)).value
    facts, _ = ours.compress(corpus_of(texts), solver, limit=30.0, n_threads=1, gap=1e-3)
    assert facts["lower_bound"] - 1e-6 <= optimum <= facts["objective"] + 1e-6
    if solver == "guided":
        facts, _ = ours.relaxation(corpus_of(texts), solver, gap=1e-2, limit=30.0, n_threads=1)
        assert facts["claimed_gap"] <= 1e-2 and facts["value"] >= optimum * (1 - 1e-6)


def test_the_path_as_a_task():
    facts, _ = ours.path(corpus_of(SMALL["repeated phrases"]), [0.0, 0.1, 1.0], limit=30.0, n_threads=1)
    assert [point["lam"] for point in facts["points"]] == [0.0, 0.1, 1.0]
    assert all(point["lower_bound"] <= point["objective"] for point in facts["points"])
    assert facts["points"][0]["shares"][0] == 1.0, "single words, where pointers are free"
    assert facts["n_grams"] == index_of(SMALL["repeated phrases"], 2).n_grams
    page = "\n".join(
        line for part in path_parts(Evidence({"corpora": {"path: small": {"path": facts}}})) for line in part.lines()
    )
    assert "1 of 1" in page and "holds" in page


def test_the_marks_of_a_trial():
    texts, found = corpus_of(SMALL["repeated phrases"]), {}
    for solver in ("homotopy", "reweighting"):
        facts, _ = ours.trial(texts, solver, limit=30.0, n_threads=1)
        assert facts["lower_bound"] <= facts["relaxation"] * (1 + 1e-6) and facts["start"] >= 1 + facts["gap"]
        assert 0 < facts["start_s"] <= facts["near_s"] <= facts["seconds"]
        found[solver] = facts
    assert 1 < found["homotopy"]["left_zeta"] < found["homotopy"]["steps"]
    assert found["reweighting"]["rounds"] == len(found["reweighting"]["jumps"]) + 1
    (part,) = trial_parts(Evidence({"corpora": {"trial: small": {"solvers": found}}}))
    assert [row[1] for row in part.rows] == ["homotopy", "reweighting"] and len(part.claims) >= 3


def test_the_marks_are_read_off_the_trace():
    nothing = float("nan")
    trace = pd.DataFrame({
        "iteration": [0, 1, 2, 3, 4], "elapsed_s": [0.0, 1.0, 2.0, 4.0, 6.0],
        "stage": ["relaxation"] * 3 + ["homotopy"] * 2,
        "objective": [nothing, nothing, 150.0, 103.0, 101.0], "best_objective": [200.0, 200.0, 150.0, 103.0, 101.0],
    })  # fmt: skip
    marks = ours.marks_of(trace, 100.0)
    assert (marks["start"], marks["start_s"], marks["near_s"], marks["left_zeta"]) == (1.5, 2.0, 6.0, 3)
    assert marks["s_per_step"] == [1.0, 2.0]
    trace["round"] = [1.0, 1.0, 1.0, 2.0, 2.0]
    trace["objective"] = [nothing, 300.0, 150.0, 225.0, 101.0]
    assert ours.marks_of(trace.assign(best_objective=150.0), 100.0)["jumps"] == [1.5]


# what is measured and shown


def test_cases_are_beginnings_of_corpora():
    table = quick_case(2).read(None)
    assert table.n_documents == 25
    some = Case("some", "sample", 2, documents=25, tokens=200).read(None)
    assert 0 < some.n_documents < 25 and abs(some.n_tokens - 200) < 100
    np.testing.assert_array_equal(some.tokens, table.tokens[: some.n_tokens])
    shuffled = Case("shuffled", "sample", 2, documents=25, pattern=LETTERS, shuffled=True).read(None)
    assert shuffled.n_documents == 25 and shuffled.vocabulary[:5] != table.vocabulary[:5]


def run_of(tolerance: float, seconds: float, gap: float) -> Answer:
    return {
        "tolerance": tolerance, "seconds": seconds, "gap": gap, "claimed_gap": gap / 2, "peak_mb": 10 * seconds,
    }  # fmt: skip


def cell(text: str, section: str, label: str) -> str:
    """The last column of a row of a table."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(section))
    return next(line for line in lines[start + 1 :] if line.strip().startswith(label)).rsplit("  ", 1)[1]


def test_times_are_those_of_the_fastest_run_that_reached_the_gap():
    figures = {"tokens": 9, "rows": 8, "columns": 7, "nonzeros": 6, "limit": 600.0}
    figures["solvers"] = {
        "ours, guided": {"runs": [run_of(1e-3, 2.0, 9e-4), run_of(1e-4, 4.0, 9e-5)], "status": ""},
        "ours, the paper's ADMM": {"runs": [run_of(1e-3, 5.0, 9e-4)], "status": ""},
        "OR-tools PDLP": {"runs": [run_of(3e-3, 9.0, 9e-4), run_of(1e-3, 8.0, 9e-4)], "status": "out of time"},
        "HiGHS simplex": {"runs": [{"tolerance": 3e-5, "status": KILLED, "seconds": 800.0}], "status": "killed"},
        "HiGHS IPM": {"runs": [run_of(3e-3, 1.0, 2e-3)], "status": "failed"},
        "HiGHS PDLP": {"runs": [], "status": "absent"},
    }
    text = relaxation.show({"a corpus": figures})
    assert cell(text, "seconds to a gap of 0.001", "OR-tools PDLP") == "8.00"
    assert cell(text, "seconds to a gap of 0.0001", "OR-tools PDLP") == "> 600"
    assert cell(text, "seconds to a gap of 0.0001", "ours, the paper's ADMM") == "not reached"
    assert cell(text, "seconds to a gap of 0.001", "HiGHS IPM").strip() == "failed"
    assert cell(text, "seconds to a gap of 0.001", "HiGHS PDLP").strip() == "absent"
    assert cell(text, "times ours, gap 0.001", "OR-tools PDLP").strip() == "4.0"
    assert cell(text, "times ours, gap 0.0001", "OR-tools PDLP").strip() == "> 150"
    assert cell(text, "times ours, gap 0.001", "HiGHS simplex").strip() == "> 300"
    assert cell(text, "times ours, gap 0.001", "HiGHS PDLP").strip() == "–"
    assert cell(text, "best gap reached", "ours, guided").strip() == "9.0e-05"
    assert cell(text, "its own claim there", "ours, guided").strip() == "4.5e-05"
    assert cell(text, "peak memory", "ours, guided").strip() == "40"


def test_a_solver_that_is_out_of_time_is_not_tried_on_a_larger_corpus(tmp_path, monkeypatch):
    asked: list[str] = []

    def run(self, task, file, *, solves=1, **options):
        asked.append(options.get("method", task))
        return Answer(KILLED if options.get("method") == "ipm" else ABSENT, "it", {"seconds": 9.0, "peak": 1})

    monkeypatch.setattr(Context, "run", run)
    monkeypatch.setattr(relaxation, "QUICK", [quick_case(1), quick_case(2)])
    context = Context(None, 1, 30.0, True, lambda name: True, lambda text: None, tmp_path)
    first, second = relaxation.columns(context)
    assert first[1]["solvers"]["HiGHS IPM"]["status"] == "killed"
    assert second[1]["solvers"]["HiGHS IPM"]["status"] == "not tried"
    assert asked.count("ipm") == 1 and asked.count("simplex") == 2


def test_binary_solutions_are_compared_with_guided():
    found = {"status": "", "note": "", "peak_mb": 5.0, "steps": 7, "objective": 101.0, "lower_bound": 100.0}
    found |= {"gap": 0.01, "reason": "time limit"}
    figures = {
        "tokens": 9,
        "limit": 60.0,
        "solvers": {
            "homotopy": found | {"seconds": 50.0, "target_s": 40.0},
            "reweighting": found | {"seconds": 61.0, "target_s": None},
            "guided": found | {"seconds": 9.0, "target_s": 2.0},
        },
    }
    text = solvers.show({"a corpus": figures})
    assert cell(text, "over guided's seconds", "homotopy").strip() == "20.0"
    assert cell(text, "over guided's seconds", "reweighting").strip() == "–"
    assert cell(text, "seconds to a gap", "reweighting").strip() == "> 61"
    assert cell(text, "certified gap", "guided").strip() == "1.000%"
    failed = {"tokens": 9, "limit": 1.0, "solvers": {"guided": {"status": "failed", "note": "x", "peak_mb": None}}}
    assert cell(solvers.show({"a corpus": failed}), "objective", "guided").strip() == "failed"


def test_the_path_is_shown_with_its_ratio_to_a_cold_solve():
    point = {"lam": 0.01, "objective": 101.0, "lower_bound": 100.0, "gap": 0.01, "seconds": 3.0}
    point |= {"dictionary_size": 12, "reason": "converged", "shares": [0.75, 0.25]}
    path = {"status": "done", "note": "", "peak_mb": 5.0, "seconds": 20.0, "points": [point, point | {"lam": 3.0}]}
    path["n_grams"] = 1234
    cold = {"status": "done", "note": "", "peak_mb": 5.0, "seconds": 8.0, "gap": 0.01}
    text = lam_path.show({"a corpus": {"tokens": 9, "cold_lam": 1.0, "cold": cold, "path": path}})
    assert "path / cold solve: 2.50" in text and "0.01" in text and "1.000%" in text
    assert "1,234 K-grams" in text and cell(text, "lam", "pointers of 2 words").strip() == "25.0%"
    failed = {"status": "failed", "note": "no module", "peak_mb": None}
    text = lam_path.show({"a corpus": {"tokens": 9, "cold_lam": 1.0, "cold": failed, "path": failed}})
    assert "cold solve: failed no module" in text and "path: failed no module" in text
    assert len(lam_path.LAMS) == 11 and lam_path.LAMS[:2] == (0.0, 0.01) and lam_path.LAMS[-1] == pytest.approx(3.0)


def test_vocabularies_are_held_against_our_bound():
    row = {"plain": 120.0, "cost": 110.0, "used": 5, "encode_s": 0.1, "setting": "1.3 x words", "seconds": 2.0}
    best = vocabularies._best([row | {"cost": 111.0, "plain": 119.0, "setting": "worse"}, row])
    assert (best["setting"], best["cost"], best["least_plain"]) == ("1.3 x words", 110.0, 119.0)
    figures = {"tokens": 9, "words": 3, "bound": 100.0}
    figures["tools"] = {"GreedTok": {"status": "absent", "note": ""}, "Hugging Face BPE": best}
    text = vocabularies.show({"a corpus": figures})
    assert cell(text, "above our bound", "Hugging Face BPE").strip() == "10.00%"
    assert cell(text, "total storage cost", "GreedTok").strip() == "absent"


# the command


@pytest.fixture
def command(monkeypatch):
    monkeypatch.setitem(benchmarks_main.BENCHMARKS, "compression-peers", "benchmarks.compression.peers.command")
    return lambda *options: benchmarks_main.main(["compression-peers", *options])


def test_quick_run_prints_and_writes_its_figures(command, tmp_path, capsys, monkeypatch):
    # two solvers, for the time it takes; the others are tried above
    monkeypatch.setattr(relaxation, "OURS", {"homotopy": relaxation.OURS["homotopy"]})
    monkeypatch.setattr(relaxation, "PEERS", {"HiGHS simplex": relaxation.PEERS["HiGHS simplex"]})
    file = tmp_path / "figures.json"
    assert command("--quick", "--sections", "lp", "--threads", "1", "--json", str(file)) == 0
    printed = capsys.readouterr().out
    everything = json.loads(file.read_text(encoding="utf-8"))
    solved = everything["corpora"]["lp: sample K=2"]["solvers"]
    assert set(solved) == {"ours, the paper's ADMM", "HiGHS simplex"}
    admm = solved["ours, the paper's ADMM"]["runs"][0]
    assert admm["gap"] <= relaxation.TARGETS[0] and admm["bound"] <= admm["value"]
    for run in solved["HiGHS simplex"]["runs"]:
        assert run["bound"] <= admm["value"] * (1 + 1e-6) and run["value"] >= admm["bound"] * (1 - 1e-6)
    assert relaxation.TITLE in printed and "load average" in printed
    assert float(cell(printed, "seconds to a gap of 0.001", "ours, the paper's ADMM")) == round(admm["seconds"], 2)


def test_what_cannot_be_measured_is_said(command, tmp_path, capsys):
    assert command("--sections", "lp,nonsense") == 2
    assert "nonsense" in capsys.readouterr().err
    assert command("--sections", "lp", "--data", str(tmp_path)) == 2
    assert "CFLENGINE_DATA" in capsys.readouterr().err
    assert command("--quick", "--cases", "no such case") == 2
    assert set(compression_peers.SECTIONS) == {"lp", "solvers", "path", "trial", "vocabularies", "sample"}
