"""The evidence: docs/results.md from the committed results, the papers' numbers beside ours, with a verdict each.

Nothing is measured. Verdicts are computed from the figures by the rules that stand beside them; what has no committed
result is listed as missing.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.evidence import (
    ablations,
    compression,
    embedding,
    feel,
    loglinear,
    plq,
    scale,
    sentence_lasso,
    tasks,
    tokenizers,
)
from benchmarks.evidence.page import Evidence, Part, stamp

RESULTS = Path(__file__).resolve().parents[1] / "results"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "results.md"
#: file of results -> what makes parts of it; the command that measures it
PARTS = {
    "compression-solvers": (compression.parts, "compression-peers --sections solvers"),
    "compression-sample": (compression.sample_parts, "compression-peers --sections sample"),
    "compression-path": (compression.path_parts, "compression-peers --sections path --limit 60"),
    "compression-trial": (compression.trial_parts, "compression-peers --sections trial"),
    "ablations": (ablations.parts, "ablations --repeats 3 --limit 15"),
    "scale": (scale.parts, "scale --sections shards"),
    "scale-sizes": (scale.parts, "scale --sections sizes"),
    "scale-large": (scale.parts, "scale --sections sizes --sizes 1.7e8 --together ''"),
    "scale-capped": (scale.parts, "scale --sections sizes --sizes 1.7e8 --shards 8 --cap 8 --together ''"),
    "tasks": (tasks.parts, "tasks"),
    "sentences": (sentence_lasso.parts, "sentences --sections tables --admm none"),
    "sentences-alone": (sentence_lasso.alone_parts, "sentences --sections alone"),
    "sentences-groups": (sentence_lasso.group_parts, "sentences --sections groups --limit 120"),
    "loglinear": (loglinear.parts, "loglinear --sections logistic,scheme,dense,parsimony"),
    "loglinear-crf": (loglinear.crf_parts, "loglinear --sections crf"),
    "loglinear-figures": (loglinear.figure_parts, "loglinear --sections figures"),
    "plq": (plq.parts, "plq"),
    "embedding": (embedding.parts, "embedding --sections ce-t1,flat,bbc,bbc-100"),
    "embedding-bbc": (embedding.parts, "embedding --sections bbc-rest,bbc-bilstm"),
    "embedding-english": (embedding.parts, "embedding --sections english"),
    "embedding-speed": (embedding.speed_parts, "embedding --sections speed"),
    "tokenizers": (tokenizers.parts, "tokenizers"),
    "app": (feel.parts, "app --minutes 6"),
    "app-hour": (feel.hour_parts, "app --minutes 60"),
}
MISSING = (
    "compression: Table 3 for K = 5, and without a limit of 300 s (AISTATS 2014)",
    "sentences: the paper's five tasks whose data is not at hand, its seconds and ADMM's own (ICML 2014, Tables 1 and "
    "2); accuracies by the hinge and the squared loss",
    "weights: Figures 4 and 5 (which is without ridge), the document's FIS, words that stand twice (clustered L-BFGS)",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where to write."""
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is not up to date")


def run(arguments: argparse.Namespace) -> int:
    """Write the page; returns the exit code."""
    page = render()
    if arguments.check:
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page
        print(
            "docs/results.md is up to date." if same else "docs/results.md is not what the results say: write it anew."
        )
        return 0 if same else 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page, encoding="utf-8")
    print(f"written to {PAGE}")
    return 0


def _measure(name: str, command: str) -> str:
    """The command that writes a file of results."""
    other = "" if command.split()[0] == name else f" --save-as {name}"
    return f"python -m benchmarks {command} --save{other}"


def render(folder: Path = RESULTS) -> str:
    """The page as Markdown."""
    lines = [
        "# Results", "",
        "Made by `python -m benchmarks report` from `benchmarks/results/*.json`, each from a full run on the machine",
        "and at the commit that its section names. A verdict is computed from the figures: **holds**, **in part**,",
        "**does not hold**; where nothing was claimed, none is given. Timings belong to one machine; ratios travel",
        "better.", "",
    ]  # fmt: skip
    missing = list(MISSING)
    for name, (make, command) in PARTS.items():
        path = folder / f"{name}.json"
        if not path.exists():
            missing.append(f"`{name}`: `{_measure(name, command)}`")
            continue
        evidence: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        parts: list[Part] = make(Evidence(evidence))
        for part in parts:
            lines += part.lines()
        lines += [f"*{stamp(evidence)} Repeat: `{_measure(name, command)}`.*", ""]
    if missing:
        lines += ["## What is missing", "", *(f"- {one}" for one in missing), ""]
    return "\n".join(lines)
