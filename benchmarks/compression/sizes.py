"""Generated corpora of several sizes from a CSV file to written features, each in a process of its own."""

from __future__ import annotations

import argparse
import csv
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compression.generated import generate
from benchmarks.corpora import present
from benchmarks.measure import memory_of
from benchmarks.report import say
from cflengine import CompressiveFeatures, GuidedSettings, ShardedSettings, read_input
from cflengine.compression import write_run
from cflengine.engine import Watch, peak_bytes

STEPS = ("read_s", "tokens_s", "index_s", "rest_s", "solve_s", "write_s")  # rest: of a fit, but for index and solver
_LETTERS = "etaoinsrhldcumfpgwybvkxjqz"


def measure_sizes(sizes: list[int], arguments: argparse.Namespace) -> dict[str, Any]:
    """By number of tokens; and of the real corpora of --together as one."""
    rows = {}
    own = {"shards": arguments.shards, "scratch": arguments.scratch, "cap": arguments.cap, "gap": arguments.gap}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="generated-", dir=arguments.scratch) as folder:
            path = write_corpus(Path(folder) / "generated.csv", size)
            rows[f"{size}"] = _measured([path], own)
    found: dict[str, Any] = {"rows": rows, "exponents": {}}
    paths, absent = present(arguments.together.split(",") if arguments.together else [], arguments.data)
    for sentence in absent:
        say(sentence)
    if paths:
        found["together"] = {"corpora": list(paths)} | _measured(list(paths.values()), own)
    if len(sizes) > 1:
        for key in STEPS:
            seconds = [max(row[key], 1e-3) for row in rows.values()]
            found["exponents"][key] = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    return found


def _measured(paths: list[Path], own: dict[str, Any]) -> dict[str, Any]:
    row = memory_of("benchmarks.compression.sizes:compress", paths=[str(path) for path in paths], **own)
    if row["private_peak"] is None:  # not Linux
        row |= {"private_peak": row["peak"], "private_baseline": row["baseline"]}
    row["bytes_a_token"] = (row["private_peak"] - row["private_baseline"]) / row["tokens"]
    say(
        f"{row['tokens']:,} tokens: {row['solve_s']:.0f} s, gap {row['gap']:.4f}, {row['bytes_a_token']:.0f} bytes a "
        "token"
    )
    return row


def write_corpus(path: Path, n_tokens: int) -> Path:
    """A generated corpus as a CSV file: a column of numbers, a column of texts."""
    tokens, doc_ptr = generate(n_tokens)
    words = [word_of(t) for t in range(int(tokens.max()) + 1)]
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "text"])
        for d, (a, e) in enumerate(zip(doc_ptr[:-1].tolist(), doc_ptr[1:].tolist(), strict=True)):
            writer.writerow([d, " ".join([words[t] for t in tokens[a:e].tolist()])])
    return path


def word_of(rank: int) -> str:
    """A word for every rank, the frequent ones short: rank in base 26, without a zero."""
    letters = ""
    rank += 1
    while rank:
        rank, letter = divmod(rank - 1, 26)
        letters += _LETTERS[letter]
    return letters


class _Timed(Watch):
    """How long indexing takes within a fit."""

    index_s = _began = 0.0

    def begin(self, stage: str, unit: str = "", total: int = 0) -> None:
        self._began = time.perf_counter()
        super().begin(stage, unit, total)

    def at(self, done: int) -> None:
        super().at(done)
        if self.stage == "indexing phrases":
            self.index_s = time.perf_counter() - self._began


def compress(paths: list[str], shards: int, scratch: str | None, cap: float | None, gap: float) -> dict[str, Any]:
    """What ``cflengine compress`` does, timed, in a process of its own."""
    if cap is not None:
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_DATA, (int(cap * 2**30), int(cap * 2**30)))
    settings: Any = GuidedSettings(tol=gap)
    if shards > 1:
        settings = ShardedSettings(tol=gap, shards=shards, scratch=scratch)
    model = CompressiveFeatures(solver="sharded" if shards > 1 else "guided", settings=settings)
    marks = [time.perf_counter()]
    corpus = read_input(paths, text_column="text")
    marks.append(time.perf_counter())
    table = model.tokenize(corpus.texts)
    marks.append(time.perf_counter())
    watch = _Timed()
    model.fit_tokens(table, watch=watch)
    marks.append(time.perf_counter())
    with tempfile.TemporaryDirectory(prefix="features-", dir=scratch) as folder:
        result = model.result_
        write_run(folder, model, model.features(), corpus.metadata, result.to_dict())
        written = sum(file.stat().st_size for file in Path(folder).iterdir())
    marks.append(time.perf_counter())
    read_s, tokens_s, fit_s, write_s = np.diff(marks).tolist()
    return {
        "read_s": read_s, "tokens_s": tokens_s, "index_s": watch.index_s,
        "rest_s": fit_s - watch.index_s - result.seconds, "solve_s": result.seconds, "write_s": write_s,
        "tokens": table.n_tokens, "characters": corpus.n_characters, "written_bytes": written,
        "gap": result.gap,
        "objective": result.objective, "k_grams_a_token": model.index_.n_grams / table.n_tokens, "shards": shards,
        "cap": cap, "peak_of_all": peak_bytes(), "disk_free": shutil.disk_usage(scratch or tempfile.gettempdir()).free,
    }  # fmt: skip


def every_row(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Those of generated corpora, then that of real ones together."""
    return [*found["rows"].values(), *([found["together"]] if "together" in found else [])]


def show_sizes(found: dict[str, Any]) -> str:
    """A line a size, and the powers of tokens that seconds grow with."""
    heads = "tokens  shards  K-grams a token  read  tokens  index  rest  solve  write  gap  B a token"
    lines = [f"sizes: {heads}"]
    for row in every_row(found):
        seconds = "".join(f"{row[key]:>7.1f} s" for key in STEPS)
        lines.append(
            f"{row['tokens']:>16,}{row['shards']:>4}{row['k_grams_a_token']:>9.3f}{seconds}"
            f"{100 * row['gap']:>7.2f} %{row['bytes_a_token']:>7.0f}  {' + '.join(row.get('corpora', ['generated']))}"
        )
    if found["exponents"]:
        powers = ", ".join(f"{key[:-2]} {value:.2f}" for key, value in found["exponents"].items())
        lines.append(f"seconds grow with tokens to the power of: {powers}")
    return "\n".join(lines)
