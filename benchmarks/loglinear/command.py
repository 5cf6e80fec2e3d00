"""Log-linear models: solvers of logistic regression, the clustered scheme, the chain CRF, beside their peers.

Sections, each printed as soon as it is done: "logistic" (Reuters ModApte and 1- to 3-grams of movie reviews: seconds to
a certified 1e-4 of the default solver and of scikit-learn's), "scheme" (Tables II to V of the paper in passes over the
data: plain, clustered by every policy, controls, scipy), "dense" (BFGS, iterative scaling, and clusters over BFGS on
500 words), "crf" (CoNLL-2003 beside python-crfsuite), "parsimony" (F1 against the number of different weights),
"figures" (what the paper draws of Reuters and of named entities).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from benchmarks.loglinear import crf as loglinear_crf
from benchmarks.loglinear import figures as loglinear_figures
from benchmarks.loglinear import logistic as loglinear_logistic
from benchmarks.loglinear import scheme as loglinear_scheme
from benchmarks.loglinear.tasks import CLASSES, RIDGES, Reuters, movies, reuters
from benchmarks.report import chosen_sections, machine, machine_line, say, write_json
from cflengine.engine import threads
from cflengine.linear import Design
from cflengine.loglinear import BinaryModel, NewtonSettings, parsimony, solve, warm_up

SECTIONS = ("logistic", "scheme", "dense", "crf", "parsimony", "figures")
TIES = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options beside the common ones."""
    parser.add_argument("--sections", default=",".join(SECTIONS), metavar="A,B", help="(default: %(default)s)")
    parser.add_argument("--classes", default=",".join(CLASSES), metavar="A,B", help="of Reuters (default: %(default)s)")
    parser.add_argument(
        "--ridges", default=",".join(f"{ridge:g}" for ridge in RIDGES), metavar="R,R",
        help="of logistic regression (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--limit", type=float, default=20.0, metavar="S", help="for each solve (default: 20)")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 2 for a wrong name or where there is nothing to measure."""
    chosen = chosen_sections(arguments.sections, SECTIONS)
    if not chosen:
        return 2
    results: dict[str, dict[str, Any]] = {}
    options = {name: getattr(arguments, name) for name in ("sections", "classes", "ridges", "limit", "quick")}
    task = None
    if set(chosen) - {"crf"}:
        task = reuters(arguments.data, say, 600 if arguments.quick else None)
    with threads(arguments.threads) as n_threads:
        facts = machine(n_threads)
        print(machine_line(facts), flush=True)
        warm_up()
        warm_up("chain")
        for name in chosen:
            measured, text = _section(name, task, arguments)
            results |= {f"{name}: {key}": figures for key, figures in measured.items()}
            if measured:
                print(f"\n== {name} ==\n\n{text}", flush=True)
            if arguments.json:
                write_json(arguments.json, "loglinear", facts, options, results)
    return 0 if results else 2


def _section(name: str, task: Reuters | None, arguments: argparse.Namespace) -> tuple[dict[str, dict[str, Any]], str]:
    quick, limit = arguments.quick, arguments.limit
    classes, ridges = arguments.classes.split(","), [float(ridge) for ridge in arguments.ridges.split(",")]
    if quick:
        classes, ridges = classes[2:3] or classes[:1], ridges[2:3] or ridges[:1]
    if name == "crf":
        measured = loglinear_crf.measure(arguments.data, quick, say)
        return measured, loglinear_crf.show(measured)
    if name == "figures":
        measured = loglinear_figures.measure(task, arguments.data, classes, limit, quick, say)
        return measured, loglinear_figures.show(measured)
    if name == "logistic":
        measured = loglinear_logistic.measure(task, classes, ridges, limit, say) if task else {}
        found = movies(arguments.data, say, 200 if quick else None)
        if found:
            peers = ["liblinear dual", "liblinear primal"]
            one = loglinear_logistic.contest(*found, 1.0, limit, peers)
            absent = {"seconds": None, "gap": None, "how": "not tried"}
            measured[f"movies, {found[0].shape[1]:,} features, 1"] = one | {
                peer: one.get(peer, absent) for peer in loglinear_logistic.PEERS
            }
            say(f"movies: {one}")
        return measured, loglinear_logistic.show(measured) if measured else ""
    if task is None:
        return {}, ""
    if name == "scheme":
        measured = loglinear_scheme.measure(task, classes, ridges, limit, quick, say)
        return measured, loglinear_scheme.show(measured)
    if name == "dense":
        measured = loglinear_scheme.measure_dense(task, classes, quick, say)
        return measured, loglinear_scheme.show_dense(measured)
    measured = _parsimony(task, classes)
    tagger = loglinear_crf.parsimony(arguments.data, TIES, quick, say)
    measured |= {"CoNLL-2003, testb": tagger} if tagger else {}
    return measured, _show_parsimony(measured)


def _parsimony(task: Reuters, classes: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Class -> F1 on the test documents by the number of different weights; 0 stands for the untied model."""
    design, out = Design(task.X), {}
    for name in classes:
        model = BinaryModel(design, task.y(name))
        w = solve(model, 0.1, "newton-cg", NewtonSettings(tol=1e-6)).w
        fits = parsimony(model, 0.1, w, TIES, lambda tied, name=name: task.f1(name, tied))
        f1 = {str(fit.k): fit.quality for fit in fits}
        out[name] = {"0": task.f1(name, w)} | f1
        say(f"{name}: {out[name]}")
    return out


def _show_parsimony(results: dict[str, dict[str, Any]]) -> str:
    lines = [f"{'F1 by different weights':<24}{'all':>8}" + "".join(f"{k:>7}" for k in TIES)]
    for name, found in results.items():
        lines.append(f"{name:<24}{found['0']:>8.1f}" + "".join(f"{found[str(k)]:>7.1f}" for k in TIES))
    return "\n".join(lines)
