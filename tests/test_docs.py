"""The documentation: every block of Python in the tutorials runs, in order, where it is told to."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import math
import re
from enum import Enum
from pathlib import Path
from typing import Protocol

import pytest
from numpydoc.validate import validate

import cflengine

DOCS = Path(__file__).resolve().parents[1] / "docs"
PACKAGES = (
    "compression", "sentence_lasso", "loglinear", "plq", "embedding", "tokenizer", "experiments", "text", "linear",
    "engine",
)  # fmt: skip
PROBLEMS = (
    "cflengine.compression.model.problem", "cflengine.sentence_lasso.model.problem",
    "cflengine.loglinear.model.problem", "cflengine.plq.problem", "cflengine.embedding.problem",
    "cflengine.tokenizer.problem",
)  # fmt: skip
SOLVERS = (
    "cflengine.compression.solvers.guided.solver", "cflengine.compression.solvers.homotopy",
    "cflengine.compression.solvers.reweighting", "cflengine.compression.solvers.exact",
    "cflengine.compression.solvers.relay", "cflengine.compression.solvers.lambda_path",
    "cflengine.compression.solvers.lifting", "cflengine.sentence_lasso.solvers.active",
    "cflengine.loglinear.solvers.auto", "cflengine.plq.newton", "cflengine.plq.race", "cflengine.tokenizer.exchange",
    "cflengine.sentence_lasso.solvers.majorise", "cflengine.sentence_lasso.solvers.admm",
    "cflengine.loglinear.solvers.lbfgs", "cflengine.loglinear.solvers.clustered", "cflengine.loglinear.solvers.dual",
    "cflengine.loglinear.solvers.newton", "cflengine.loglinear.solvers.owlqn", "cflengine.plq.solver",
    "cflengine.tokenizer.solve",
)  # fmt: skip
#: of numpydoc: parameters that are not described, that there are not, in another order, without type or description
CHECKS = {"PR01", "PR02", "PR03", "PR04", "PR07", "PR09", "PR10", "SS01", "GL06", "GL07"}
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))


@pytest.mark.parametrize("page", TUTORIALS, ids=[page.stem for page in TUTORIALS])
def test_a_tutorial_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)


@pytest.mark.parametrize("name", PROBLEMS + SOLVERS)
def test_worked_examples_come_out_as_they_stand(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted >= 3 and not found.failed


def test_public_names_describe_their_parameters():
    """Names of ``cflengine`` itself: a numpydoc section with an entry for each parameter of the signature."""
    checked = 0
    for name in cflengine.__all__:
        if inspect.isclass(found := getattr(cflengine, name)) or inspect.isfunction(found):
            errors = [error for error in validate(f"cflengine.{name}")["errors"] if error[0] in CHECKS]
            assert not errors, f"{name}: {errors}"
            checked += 1
    assert checked > 25


PLUMBING = {"to_parts", "from_parts", "adopt", "of", "search_only", "get", "get_feature_names_out"}


def test_methods_of_estimators_describe_their_parameters_and_answers():
    """Of every public class with a ``fit``, all that takes anything."""
    checked = 0
    for name in cflengine.__all__:
        kind = getattr(cflengine, name)
        if not inspect.isclass(kind) or not hasattr(kind, "fit"):
            continue
        for method in sorted(set(dir(kind)) - PLUMBING):
            found = inspect.unwrap(getattr(kind, method)) if not method.startswith("_") else None
            if not inspect.isroutine(found) or not getattr(found, "__module__", "").startswith("cflengine"):
                continue
            if len(inspect.signature(getattr(kind, method)).parameters) > (not inspect.ismethod(found)):
                errors = validate(f"cflengine.{name}.{method}")["errors"]
                asked = CHECKS | (set() if method.startswith("save") else {"RT01"})
                assert not [error for error in errors if error[0] in asked], f"{name}.{method}: {errors}"
                checked += 1
    assert checked > 40


@pytest.mark.parametrize("package", [*PACKAGES, "verify"])
def test_functions_of_packages_describe_their_parameters_and_answers(package):
    module = importlib.import_module(f"cflengine.{package}")
    functions = [name for name in module.__all__ if inspect.isfunction(getattr(module, name))]
    takers = [name for name in functions if inspect.signature(getattr(module, name)).parameters]
    for name in takers:
        errors = validate(f"cflengine.{package}.{name}")["errors"]
        asked = CHECKS | (set() if name.startswith("write") else {"RT01"})
        assert not [error for error in errors if error[0] in asked], f"{name}: {errors}"
    assert takers


@pytest.mark.parametrize("package", [*PACKAGES, "verify"])
def test_classes_of_packages_describe_their_parameters(package):
    """But for enumerations, exceptions and protocols, which users do not make."""
    module = importlib.import_module(f"cflengine.{package}")
    for name in module.__all__:
        found = getattr(module, name)
        made = inspect.isclass(found) and not issubclass(found, Exception | Enum) and Protocol not in found.__bases__
        if made and inspect.signature(found).parameters:
            errors = [error for error in validate(f"cflengine.{package}.{name}")["errors"] if error[0] in CHECKS]
            assert not errors, f"{name}: {errors}"


def test_no_docstring_describes_a_parameter_that_there_is_not():
    """Whatever else has a section of parameters."""
    for package in PACKAGES:
        module = importlib.import_module(f"cflengine.{package}")
        for name in module.__all__:
            found = getattr(module, name)
            if (inspect.isclass(found) or inspect.isfunction(found)) and "Parameters\n" in (found.__doc__ or ""):
                errors = validate(f"cflengine.{package}.{name}")["errors"]
                assert not [error for error in errors if error[0] == "PR02"], f"{name}: {errors}"


def test_solvers_of_the_sample_are_as_good_as_the_readme_says():
    file = DOCS.parent / "benchmarks" / "results" / "compression-sample.json"
    (figures,) = json.loads(file.read_text(encoding="utf-8"))["corpora"].values()
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for solver, found in figures["solvers"].items():
        (row,) = re.findall(rf"^\| `{solver}`.*\|$", readme, re.MULTILINE)
        assert f"within {math.ceil(1e4 * found['gap']) / 100:.2f} %" in row
    assert f"{figures['tokens']:,} words and marks" in readme


def test_links_and_pictures_are_there():
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]
    assert len(pages) > 15
    for page in pages:
        for target in re.findall(r"\]\((?!https?:|#)([^)\s#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
