"""``cflengine verify``: what is so is verified, without compiled code; what was falsified is refused, and named."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cflengine import CompressiveFeatures, cli
from cflengine.compression.search import branching
from cflengine.engine.checks import InputError
from cflengine.engine.progress import Progress, TerminationReason, Watch
from cflengine.linear.saving import write_model
from cflengine.text.kgrams import index_kgrams
from cflengine.text.plain_grams import number_grams
from cflengine.verify import corpus_parts
from cflengine.verify.findings import FalseResult
from cflengine.verify.runs import verify_run
from naive.corpora import SMALL

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [
    "The cat sat on the mat, the cat sat.", "the dog sat on the mat", "The cat, the dog and the MAT!", "a b a b a b",
    "the cat sat on the dog", "a b c", "Ünïcode ﬁ the cat", "=1+1 the cat sat", "a dog sat on a mat", "the the the",
]  # fmt: skip
CONLL = "".join(f"{word} {word[:2]} {tag}\n" + ("\n" if word == "." else "") for word, tag in [
    ("Kim", "PER"), ("left", "O"), (".", "O"), ("Rome", "LOC"), ("fell", "O"), (".", "O"), ("Kim", "PER"),
    ("saw", "O"), ("Rome", "LOC"), (".", "O"), ("Ann", "PER"), ("left", "O"), ("Rome", "LOC"), (".", "O"),
])  # fmt: skip


def command(*arguments: object) -> None:
    assert cli.main([str(argument) for argument in arguments]) == 0


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("in") / "texts.csv"
    frame = pd.DataFrame({"text": TEXTS * 3, "label": (["x", "y", "z", "x", "y"] * 6)[: len(TEXTS) * 3]})
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def good(source, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("out") / "run"
    command("compress", source, "--text-column", "text", "--out", out, "--quiet")
    return out


@pytest.fixture(params=[1_000_000, 40], ids=["whole", "in parts"])
def run(request, good, tmp_path, monkeypatch) -> Path:
    """A copy that may be spoilt; the corpus is checked in one part, or in several."""
    monkeypatch.setattr(corpus_parts, "PART_TOKENS", request.param)
    return Path(shutil.copytree(good, tmp_path / "run"))


@pytest.mark.parametrize(
    "options",
    [(), ("--lam", "0"), ("--lam", "0.3", "--max-gram", "5"), ("--solver", "homotopy", "--weighting", "tf-idf"),
     ("--keep-case", "--weighting", "tf"), ("--token-pattern", r"(\w)\w*", "--weighting", "idf"),
     ("--sentence-borders", "--counting", "soft"), ("--sentence-borders", "--max-gram", "4"), ("--plain-cost", "0.7"),
     ("--limit", "7", "--min-words", "3"), ("--solver", "reweighting", "--time-limit", "0.5"),
     ("--counting", "occurrences", "--weighting", "damped"), ("--shards", "3"),
     ("--shards", "5", "--sentence-borders", "--gap", "0.02", "--relaxation-gap", "0.01")],
)  # fmt: skip
def test_every_run_is_verified(source, tmp_path, monkeypatch, options):
    out = tmp_path / "run"
    command("compress", source, "--text-column", "text", "--out", out, "--quiet", *options)
    finding = verify_run(out)[0]
    report = json.loads((out / "report.json").read_text())
    assert finding.objective == pytest.approx(report["objective"], rel=1e-12)
    assert finding.lower_bound <= finding.objective and finding.lower_bound == pytest.approx(report["lower_bound"])
    for size in (30, 7):  # documents longer than a part, too
        monkeypatch.setattr(corpus_parts, "PART_TOKENS", size)
        again = verify_run(out)[0]
        tied = any("branching trees" in line for line in again.checked)  # of a corpus as small as this, all documents
        assert again.objective == pytest.approx(finding.objective, rel=1e-12) and ("parts" in again.checked[0]) != tied
        assert again.lower_bound == pytest.approx(finding.lower_bound, rel=1e-9)
        assert again.checked[1:] == finding.checked[1:]


def test_a_check_says_how_far_it_is(good, monkeypatch):
    monkeypatch.setattr(corpus_parts, "PART_TOKENS", 40)
    watch, told = Watch(), []
    watch.poll = lambda: told.append(str(watch)) or True
    verify_run(good, watch=watch)
    stages = list(dict.fromkeys(line.split(",")[0] for line in told))
    assert stages[0] == "reading …" and "cutting texts into tokens" in stages and "counting features" in stages
    parts = [line for line in told if line.startswith("finding K-grams, ")]
    total = len(parts) - 1
    assert total > 2 and parts == [f"finding K-grams, {done} of {total} parts" for done in range(total + 1)]


@pytest.fixture
def lifted(tmp_path, monkeypatch) -> Path:
    """A run whose bound is proved by trees, a document each."""
    monkeypatch.setattr(branching, "PART_TOKENS", 0)
    path, out = tmp_path / "texts.csv", tmp_path / "lifted"
    pd.DataFrame({"text": ["c b c a a", "the cat sat on the mat", "y x y z z", "u t u s s"]}).to_csv(path, index=False)
    command("compress", path, "--max-gram", "2", "--gap", "0", "--out", out, "--quiet")
    return out


def test_trees_are_verified_in_one_part_and_in_several(lifted, monkeypatch):
    report = json.loads((lifted / "report.json").read_text())
    for size in (1_000_000, 6):
        monkeypatch.setattr(corpus_parts, "PART_TOKENS", size)
        finding = verify_run(lifted)[0]
        assert finding.lower_bound == pytest.approx(report["lower_bound"], rel=1e-9) and finding.gap < 1e-6
        assert any("4 branching trees, whole, of 7 leaves" in line for line in finding.checked)


@pytest.mark.parametrize("size", [1_000_000, 6])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("prices", lambda a: a * 1.5), ("prices", lambda a: a * 0.9), ("stored", lambda a: 1 - a * 0),
        ("spans", lambda a: a + 100), ("spans", lambda a: a * 0), ("fixed", lambda a: a + 7),
        ("share", lambda a: a * 0.0), ("leaf_ptr", lambda a: a[::-1]), ("stored_ptr", lambda a: a[:-1]),
    ],
)  # fmt: skip
def test_a_false_tree_is_refused(lifted, monkeypatch, name, change, size):
    monkeypatch.setattr(corpus_parts, "PART_TOKENS", size)
    arrays = dict(np.load(lifted / "proof.npz"))
    values = arrays[f"branching_{name}"]
    arrays[f"branching_{name}"] = change(values).astype(values.dtype)
    np.savez(lifted / "proof.npz", **arrays)
    if name == "share" and not values.any():
        return
    with pytest.raises(FalseResult):
        verify_run(lifted)


def test_where_the_gap_lies_is_verified(run):
    report = json.loads((run / "report.json").read_text())
    where = report["gap_lies_in"]
    assert where["total"] == pytest.approx(report["objective"] - report["lower_bound"], abs=1e-9)
    documents = pd.read_csv(run / "documents.csv")
    assert documents["cost"].sum() == pytest.approx(report["objective"])
    assert documents["gap"].sum() == pytest.approx(where["total"], abs=1e-9)
    for change in (
        {"total": where["total"] + 0.1}, {"slack": where["slack"] + 0.1},
        {"documents": [row | {"cost": row["cost"] + 1.0} for row in where["documents"]]},
        {"documents": [row | {"document": 10**6} for row in where["documents"]]},
    ):  # fmt: skip
        edit_report(run, gap_lies_in=where | change)
        with pytest.raises(FalseResult, match="where the gap lies"):
            verify_run(run)
    edit_report(run, gap_lies_in=where)
    for column, said in (("cost", "document"), ("gap", "add up")):
        documents.assign(**{column: documents[column] + 0.01}).to_csv(run / "documents.csv", index=False)
        with pytest.raises(FalseResult, match=said):
            verify_run(run)


def test_prices_that_are_no_real_numbers_are_refused(run):
    arrays = dict(np.load(run / "proof.npz"))
    np.savez(run / "proof.npz", **(arrays | {"alpha": arrays["alpha"] + 1j}))
    with pytest.raises(FalseResult, match="one price"):
        verify_run(run)


def test_trees_that_spend_too_much_are_false_not_damaged(lifted):
    arrays = dict(np.load(lifted / "proof.npz"))
    np.savez(lifted / "proof.npz", **(arrays | {"branching_share": arrays["branching_share"] + 10.0}))
    if len(arrays["branching_share"]):
        with pytest.raises(FalseResult, match="spend more"):
            verify_run(lifted)


def test_nothing_compiled_and_no_solver_is_loaded(good, source):
    program = (
        "import sys; from cflengine.cli import main;"
        f"assert main(['verify', {str(good)!r}]) == 0;"
        "print([m for m in ('numba', 'sklearn') if m in sys.modules],"
        "[m for m in sys.modules if m.startswith('cflengine') and ('kernels' in m or 'solver' in m or 'guided' in m)])"
    )
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert answer.stdout.splitlines()[-1] == "[] []" and "verified (" in answer.stdout


def forget(run: Path, name: str) -> None:
    """A run that never wrote the file, as one of an older version."""
    (run / name).unlink()
    files = json.loads((run / "report.json").read_text())["files"]
    edit_report(run, files=[one for one in files if one != name])


def edit_report(run: Path, **changes: object) -> None:
    report = json.loads((run / "report.json").read_text())
    (run / "report.json").write_text(json.dumps(report | changes))


def edit_pointers(run: Path, change) -> None:
    table = pq.read_table(run / "pointers.parquet")
    frame = table.to_pandas()
    names = (run / "feature_names.txt").read_text().split("\n")[:-1]
    codes = np.array([names.index(name) for name in frame["gram"]])
    frame = frame.drop(columns="gram").assign(code=codes)
    frame = change(frame)
    gram = pa.DictionaryArray.from_arrays(pa.array(frame.pop("code").to_numpy(np.int32)), pa.array(names))
    columns = {name: pa.array(frame[name].to_numpy()) for name in frame.columns}
    pq.write_table(pa.table(columns | {"gram": gram}), run / "pointers.parquet")


def shifted(frame: pd.DataFrame) -> pd.DataFrame:
    frame.loc[3, "start"] += 1
    return frame


def another_entry(frame: pd.DataFrame) -> pd.DataFrame:
    frame.loc[2, "code"] = (frame.loc[2, "code"] + 1) % (frame["code"].max() + 1)
    return frame


def another_document(frame: pd.DataFrame) -> pd.DataFrame:
    frame.loc[0, "document"] = 10**6
    return frame


def another_character(frame: pd.DataFrame) -> pd.DataFrame:
    frame.loc[1, "end_char"] += 1
    return frame


@pytest.mark.parametrize(
    "change", [shifted, another_entry, another_document, another_character, lambda f: f.drop(index=4),
               lambda f: pd.concat([f, f.iloc[:1]])]
)  # fmt: skip
def test_a_false_pointer_is_refused(run, change):
    edit_pointers(run, change)
    with pytest.raises(FalseResult):
        verify_run(run)


@pytest.mark.parametrize(
    "name", ["objective", "lower_bound", "gap", "n_pointers", "dictionary_size", "n_tokens", "n_grams"]
)
@pytest.mark.parametrize("factor", [1.001, 0.999])
def test_false_numbers_are_refused(run, name, factor):
    report = json.loads((run / "report.json").read_text())
    edit_report(run, **{name: report[name] * factor})
    with pytest.raises(FalseResult, match=r"says|number"):
        verify_run(run)


def test_a_better_bound_than_the_prices_prove_is_refused(run):
    report = json.loads((run / "report.json").read_text())
    bound = report["lower_bound"] * 1.0005
    edit_report(run, lower_bound=bound, gap=report["objective"] / bound - 1)
    with pytest.raises(FalseResult, match="prove"):
        verify_run(run)


def test_a_solution_that_is_said_to_be_optimal_must_be(run):
    report = json.loads((run / "report.json").read_text())
    open_still = report["objective"] - report["lower_bound"]
    assert report["optimal"] == (open_still < report["certificate"]["step"] == 1.0)
    edit_report(run, optimal=False)
    (found,) = verify_run(run)
    assert any(line.startswith("optimal") for line in found.checked) == report["optimal"]
    alpha = np.load(run / "proof.npz")["alpha"] / 2  # proves half of the bound
    np.savez(run / "proof.npz", alpha=alpha)
    bound = float(alpha.astype(np.float64).sum())
    facts = {"lower_bound": bound, "gap": report["objective"] / bound - 1}
    edit_report(run, **facts, certificate=report["certificate"] | facts)
    forget(run, "model.cflm")  # which says the gap, too
    with pytest.raises(FalseResult, match="add up"):
        verify_run(run)
    pd.read_csv(run / "documents.csv").drop(columns=["cost", "gap"]).to_csv(run / "documents.csv", index=False)
    edit_report(run, gap_lies_in=None)
    verify_run(run)
    edit_report(run, optimal=True)
    with pytest.raises(FalseResult, match="optimal, which is not proved"):
        verify_run(run)


@pytest.mark.parametrize("gap", [1e-6, 0.0, True, "0.1"])
def test_a_gap_above_a_bound_of_nothing_is_refused(run, gap):
    """Prices of 0 prove a bound of 0 at most, above which there is no gap to state."""
    np.savez(run / "proof.npz", alpha=np.zeros_like(np.load(run / "proof.npz")["alpha"]))
    edit_report(run, lower_bound=0.0, gap=gap)
    with pytest.raises(FalseResult):
        verify_run(run)


def test_a_proof_without_prices_proves_nothing(run):
    np.savez(run / "proof.npz", other=np.zeros(3))
    with pytest.raises(FalseResult, match="no alpha, so nothing can be proved"):
        verify_run(run)


@pytest.mark.parametrize("change", [lambda a: a * 1.01, lambda a: np.append(a[1:], a[0] + 0.5), lambda a: a[:-1],
                                    lambda a: np.where(np.arange(len(a)) == 5, np.nan, a)])  # fmt: skip
def test_false_prices_are_refused(run, change):
    alpha = np.load(run / "proof.npz")["alpha"]
    np.savez(run / "proof.npz", alpha=change(alpha))
    with pytest.raises(FalseResult):
        verify_run(run)


def test_false_counts_costs_names_and_features_are_refused(run, good):
    def with_cell(column: str, value: object) -> None:
        frame = pd.read_csv(good / "dictionary.csv", keep_default_na=False)
        frame.loc[2, column] = value
        frame.to_csv(run / "dictionary.csv", index=False)
        with pytest.raises(FalseResult, match=r"dictionary\.csv"):
            verify_run(run)

    for column, value in (("count", 99), ("cost", 0.5), ("length", 9), ("gram", "another")):
        with_cell(column, value)
    shutil.copy(good / "dictionary.csv", run)
    names = (good / "feature_names.txt").read_text().split("\n")
    (run / "feature_names.txt").write_text("\n".join([names[1], names[0], *names[2:]]))
    with pytest.raises(FalseResult):
        verify_run(run)
    shutil.copy(good / "feature_names.txt", run)
    matrix = sparse.load_npz(good / "features.npz").tolil()
    matrix[0, 0] += 1
    sparse.save_npz(run / "features.npz", matrix.tocsr())
    with pytest.raises(FalseResult, match="features"):
        verify_run(run)
    shutil.copy(good / "features.npz", run)
    frame = pd.read_csv(good / "documents.csv")
    frame.loc[1, "pointers"] += 1
    frame.to_csv(run / "documents.csv", index=False)
    with pytest.raises(FalseResult, match="document 1"):
        verify_run(run)


def test_a_false_dictionary_in_the_model_is_refused(run):
    model = CompressiveFeatures.load(run / "model.cflm")
    header, arrays = model.to_parts()

    def spoilt(**changes) -> None:
        write_model(
            run / "model.cflm", "k-grams", header | changes.get("header", {}), arrays | changes.get("arrays", {})
        )
        with pytest.raises(FalseResult, match=r"model\.cflm"):
            verify_run(run)

    spoilt(header={"grams": [["other"], *header["grams"][1:]]})
    spoilt(header={"parameters": header["parameters"] | {"lowercase": False}})
    for name in ("count", "cost", "idf"):
        spoilt(arrays={name: arrays[name] * 1.001})
    (run / "model.cflm").rename(run / ".kept")
    with pytest.raises(FalseResult, match=r"model\.cflm .*which the run wrote: not there"):
        verify_run(run)
    (run / ".kept").rename(run / "model.cflm")
    forget(run, "model.cflm")
    assert verify_run(run)


def test_pointers_in_another_order_are_the_same_pointers(run):
    edit_pointers(run, lambda frame: frame.sample(frac=1.0, random_state=0))
    assert verify_run(run)


def test_another_input_is_refused(run, source, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(source.read_text().replace("cat", "cow"))
    with pytest.raises(FalseResult, match="digest"):
        verify_run(run, str(other))
    shutil.copy(source, tmp_path / "same.csv")
    assert verify_run(run, str(tmp_path / "same.csv"))


@pytest.mark.parametrize(("name", "value"), [("lam", 2.0), ("max_gram", 2), ("plain_cost", 1.0), ("lam", None)])
def test_other_costs_asked_for_than_taken_are_refused(run, name, value):
    arguments = json.loads((run / "report.json").read_text())["arguments"]
    edit_report(run, arguments=arguments | {name: value})
    with pytest.raises(FalseResult, match=f"{name} .* was asked for"):
        verify_run(run)


def test_what_is_no_run_gets_one_sentence(tmp_path, run):
    with pytest.raises(InputError, match=r"report\.json"):
        verify_run(tmp_path)
    for command in ("evaluate", ["compress"], None, 7):
        edit_report(run, command=command)
        with pytest.raises(InputError, match="cannot be verified"):
            verify_run(run)
    edit_report(run, command="compress")
    arguments = json.loads((run / "report.json").read_text())["arguments"]
    edit_report(run, arguments=arguments | {"limit": ["7"]})
    with pytest.raises(FalseResult, match="damaged"):
        verify_run(run)
    edit_report(run, arguments=arguments)
    forget(run, "proof.npz")
    with pytest.raises(InputError, match="nothing can be proved"):
        verify_run(run)
    (run / "proof.npz").symlink_to(os.devnull)
    with pytest.raises(InputError, match="is no file"):
        verify_run(run)
    (run / "proof.npz").unlink()
    (run / "report.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="cannot be read"):
        verify_run(run)


def check_damaged(run: Path) -> None:
    """Whatever stands in a file of a run, the answer is one sentence, and never "verified"."""
    for path in sorted(run.iterdir()):
        data = path.read_bytes()
        half = len(data) // 2
        damages = [b"", b"\x00\xff garbage" * 50, data[:half], b"{}", b"[1]", b"PK\x03\x04" + data[4:300]]
        if path.suffix == ".npz":
            damages.append(data[:half] + bytes([data[half] ^ 0x55]) + data[half + 1 :])
        for damaged in damages:
            path.write_bytes(damaged)
            with pytest.raises(InputError if path.name == "report.json" else FalseResult):
                verify_run(run)
        path.write_bytes(data)
        path.rename(run / ".gone")
        with pytest.raises(InputError if path.name == "report.json" else FalseResult, match=path.name):
            verify_run(run)
        (run / ".gone").rename(path)
    assert verify_run(run)


def test_damaged_files_are_refused(run):
    forget(run, "trace.csv")  # of its course a run proves nothing
    half = (run / "documents.csv").read_bytes()
    assert b"label" in half, "columns of the user's, which are not the run's to claim"
    (run / "documents.csv").unlink()
    frame = pd.read_csv(io.BytesIO(half))[["document", "tokens", "pointers"]]
    frame.to_csv(run / "documents.csv", index=False)
    edit_report(run, gap_lies_in=None)
    check_damaged(run)


def test_arrow_reads_files_that_are_not_pythons(run, monkeypatch):
    """Its threads hold them a moment longer: an interpreter that ends then is aborted, exit code 134."""
    kinds = []

    def opened(read):
        return lambda file, **how: (kinds.append(type(file)), read(file, **how))[1]

    monkeypatch.setattr(pa_csv, "open_csv", opened(pa_csv.open_csv))
    monkeypatch.setattr(pq, "read_table", opened(pq.read_table))
    verify_run(run)
    assert kinds and set(kinds) == {pa.OSFile}


def test_false_rows_of_the_long_table_are_refused(run):
    lines = (run / "features.csv").read_text().splitlines()
    for changed in (lines[:-1], [*lines, lines[-1]], [*lines[:-1], '0,"nowhere",1'], [*lines[:-1], '999,"the",1']):
        (run / "features.csv").write_text("\n".join(changed) + "\n")
        with pytest.raises(FalseResult, match=r"features\.csv"):
            verify_run(run)


def test_the_commands_exit_codes(run, capsys):
    assert cli.main(["verify", str(run)]) == 0
    edit_report(run, objective=1.0)
    assert cli.main(["verify", str(run)]) == 1
    assert "not verified" in capsys.readouterr().err
    assert cli.main(["verify", str(run / "nowhere")]) == 2


LEARNERS = {
    "sentences": ("sentences", "--label-column", "label", "--grid", "0.1,1", "--dev-split", "0.3"),
    "admm": ("sentences", "--label-column", "label", "--models", "sentence", "--lam-sen", "0.1", "--lam-las", "0.1",
             "--solver", "admm", "--dev-split", "0.3"),
    "clauses": ("sentences", "--label-column", "label", "--models", "sentence", "--grid", "0.1", "--dev-split", "0.3",
                "--groups", "clause", "--group-weights", "length"),
    "grams": ("sentences", "--label-column", "label", "--grid", "0.1", "--features", "kgrams", "--dev-split", "0.3"),
    "logistic": ("train-logistic", "--label-column", "label"),
    "binary": ("train-logistic", "--label-column", "label", "--classes", "x,y", "--weighting", "tf-idf"),
    "multinomial": ("train-logistic", "--label-column", "label", "--multiclass", "multinomial", "--weighting", "count"),
    "stopped": ("train-logistic", "--label-column", "label", "--solver", "lbfgs"),
}  # fmt: skip


def stop(progress: Progress) -> bool:
    progress.reason = TerminationReason.TIME_LIMIT
    return False


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_are_verified_and_what_is_false_refused(name, source, tmp_path, monkeypatch):
    first, *options = LEARNERS[name]
    out = tmp_path / "run"
    if name == "stopped":
        # as a time limit does at the first event, whatever the machine's speed
        monkeypatch.setattr(Progress, "report", lambda self, stats: stop(self))
    command(first, source, "--text-column", "text", *options, "--out", out, "--quiet")
    assert verify_run(out)
    report = json.loads((out / "report.json").read_text())
    fits = report["fits"] if "fits" in report else report["models"][0]["results"]
    for key in ("objective", "lower_bound", "gap"):
        before = fits[0][key]
        fits[0][key] = 0.9 * (before or 1.0) + 0.01
        (out / "report.json").write_text(json.dumps(report))
        with pytest.raises(FalseResult):
            verify_run(out)
        fits[0][key] = before
    (out / "report.json").write_text(json.dumps(report))
    arrays = dict(np.load(out / "proof.npz"))
    key = next(name for name in arrays if name.startswith(("alpha", "X_data", "w_")))
    arrays[key] = np.clip(arrays[key] * 0.5 + 0.01, 0, None)
    np.savez(out / "proof.npz", **arrays)
    if arrays[key].any() and name != "stopped":
        with pytest.raises(FalseResult):
            verify_run(out)


def test_taggers_are_verified(tmp_path):
    (tmp_path / "train.conll").write_text(CONLL)
    out = tmp_path / "run"
    command("train-crf", tmp_path / "train.conll", "--out", out, "--quiet", "--c1", "0.05")
    assert verify_run(out)[0].gap < 1e-3
    edit_report(out, lower_bound=json.loads((out / "report.json").read_text())["objective"], gap=0.0)
    with pytest.raises(FalseResult, match="proved"):
        verify_run(out)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=6), st.integers(1, 8))
def test_grams_by_sorting_are_those_of_the_index(documents, max_gram):
    tokens = np.array([t for document in documents for t in document], dtype=np.int32)
    ptr = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64)
    gram_of, lengths = number_grams(tokens, ptr, max_gram)
    index = index_kgrams(tokens, ptr, max_gram)
    assert len(lengths) == index.n_grams
    np.testing.assert_array_equal(gram_of >= 0, index.gram_of >= 0)
    pairs = set(zip(gram_of[gram_of >= 0].tolist(), index.gram_of[gram_of >= 0].tolist(), strict=True))
    assert len(pairs) == index.n_grams, "one to one"


def test_a_foreign_bound_is_said_not_to_be_verified(tmp_path, capsys, monkeypatch):
    """Of a corpus whose relaxation leaves a gap: otherwise its prices settle all, and HiGHS is not asked."""
    pytest.importorskip("highspy")
    monkeypatch.setattr("cflengine.compression.solvers.run.branch_where_open", lambda *_: ())  # which prove as much
    out, source = tmp_path / "run", tmp_path / "la.csv"
    pd.DataFrame({"text": SMALL["one word again and again"]}).to_csv(source, index=False)
    command("compress", source, "--text-column", "text", "--out", out, "--solver", "exact")
    said = json.loads((out / "report.json").read_text())["unverified_bound"]
    assert "HiGHS says" in capsys.readouterr().out and isinstance(said, float)
    assert "branch and bound" in verify_run(out)[0].notes[0]
    command("verify", out)
    assert "not verified: a bound of" in capsys.readouterr().out
    report = json.loads((out / "report.json").read_text())
    for word in (2.0 * report["objective"], 0.5 * report["lower_bound"], True, "much", [1.0]):
        edit_report(out, unverified_bound=word)
        with pytest.raises(FalseResult, match="exact solver"):
            verify_run(out)
    edit_report(out, unverified_bound=said, solver="guided")
    with pytest.raises(FalseResult, match="exact solver"):
        verify_run(out)


def test_names_that_would_stand_twice_are_told_apart(tmp_path):
    from cflengine.engine.words import numbered

    assert numbered(["a", "b", "a", "a (2)", "a", "a (2)"]) == ["a", "b", "a (3)", "a (2)", "a (4)", "a (2) (2)"]
    source, out = tmp_path / "nb.txt", tmp_path / "run"
    source.write_text("\n".join(["New York", "New\u00a0York"] * 6 + ["New York|(2)"] * 9) + "\n", "utf-8")
    assert cli.main(["compress", str(source), "--token-pattern", "[^|]+", "--lam", "2", "--out", str(out)]) == 0
    names = (out / "feature_names.txt").read_text("utf-8").splitlines()
    assert len(set(names)) == len(names) == 3
    assert verify_run(out)


def test_records_that_are_left_out_are_read_again(tmp_path):
    source, out = tmp_path / "t.csv", tmp_path / "run"
    source.write_text("text,id\n" + "a b c,1\n" * 6 + ",2\n  ,3\n", "utf-8")
    assert cli.main(["compress", str(source), "--text-column", "text", "--out", str(out)]) == 0
    assert verify_run(out)
    whole = (out / "left_out.csv").read_text("utf-8")
    (out / "left_out.csv").write_text(whole.replace("7,", "5,"), "utf-8")
    with pytest.raises(FalseResult, match=r"left_out\.csv names other records"):
        verify_run(out)
    (out / "left_out.csv").write_text(whole, "utf-8")
    source.write_text(source.read_text("utf-8").replace("c,1", "c,9"), "utf-8")
    with pytest.raises(FalseResult, match=r"documents\.csv is wrong about document 0"):
        verify_run(out)
