"""Who may import whom, read from the sources; see the design: engine <- text <- linear <- systems <- {cli, app}.

A rule is one test: it names every file that breaks it, and how.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "cflengine"
SYSTEMS = sorted(
    path.name
    for path in PACKAGE.iterdir()
    if (path / "__init__.py").exists() and path.name not in ("engine", "text", "linear", "verify", "cli", "experiments")
)
SOURCES = sorted(PACKAGE.rglob("*.py"))
PAGES = sorted((ROOT / "pages").glob("*.py"))
APP = [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]
BESIDE = [path for folder in ("sample_data", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]
MOST_MODULES, MOST_LINES = 24, 400  # 350, and a little more where parameters take many lines


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports_in(nodes: Iterable[ast.AST], module: str, is_package: bool = False) -> Iterator[tuple[str, str]]:
    """(module, name) of every import, also inside functions; ("x.y", "") for ``import x.y`` and its like by name."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            if isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value), ""
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")[: None if is_package and node.level == 1 else is_package - node.level]
                base = ".".join([*parents, *([base] if base else [])])
            yield from ((base, alias.name) for alias in node.names)


@cache
def imports_of(path: Path) -> frozenset[tuple[str, str]]:
    return frozenset(imports_in(ast.walk(tree_of(path)), module_of(path), path.name == "__init__.py"))


@cache
def is_module(name: str) -> bool:
    below = ROOT.joinpath(*name.split("."))
    return below.with_suffix(".py").exists() or (below / "__init__.py").exists()


def full_names(imports: Iterable[tuple[str, str]]) -> set[str]:
    """``from cflengine.text import tokens`` is an import of cflengine.text.tokens."""
    return {f"{base}.{name}" if name and is_module(f"{base}.{name}") else base for base, name in imports}


@cache
def own(path: Path) -> frozenset[str]:
    """What a file imports of the package."""
    return frozenset(name for name in full_names(imports_of(path)) if name.split(".")[0] == "cflengine")


@cache
def foreign(path: Path) -> frozenset[str]:
    """Top-level names of what it imports from elsewhere, the standard library left out."""
    names = {name.split(".")[0] for name, _ in imports_of(path)}
    return frozenset(names - {"cflengine"} - sys.stdlib_module_names)


def within(name: str, *allowed: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in allowed)


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def files_of(*folders: str) -> list[Path]:
    """The files of packages, those of their packages included."""
    return [path for path in SOURCES if path.relative_to(PACKAGE).parts[0] in folders]


def system_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def beyond(paths: Iterable[Path], *allowed: str) -> list[str]:
    """What files import of the package that they are not to know."""
    return [f"{shown(path)}: {name}" for path in paths for name in sorted(own(path)) if not within(name, *allowed)]


def is_kernels(name: str) -> bool:
    """Whether a module, by its full name, is one of kernels."""
    parts = name.split(".")
    return "kernels" in parts[-1] or "kernels" in parts[:-1]


KERNELS = [path for path in SOURCES if is_kernels(module_of(path)) and path.name != "__init__.py"]
ON_ANOTHER = {"tokenizer": ("cflengine.compression",)}  # its problem is that system's
BELOW = ("cflengine.linear", "cflengine.text", "cflengine.engine", "cflengine._version")


def test_walker_sees_every_kind_of_import():
    """The rules below are worth as much as this."""
    tree = ast.parse(
        "import a.b\nfrom c import d as e\nfrom . import f\nfrom .g import h\nfrom ..i import j\n"
        "def k():\n    from l.m import n\nif 0:\n    import o as p, q\nimportlib.import_module('r.s')"
    )
    assert set(imports_in(ast.walk(tree), "cflengine.system.file")) == {
        ("a.b", ""), ("c", "d"), ("cflengine.system", "f"), ("cflengine.system.g", "h"), ("cflengine.i", "j"),
        ("l.m", "n"), ("o", ""), ("q", ""), ("r.s", ""),
    }  # fmt: skip
    inside = ast.parse("from . import f\nfrom .g import h\nfrom ..i import j")
    assert set(imports_in(ast.walk(inside), "cflengine.system", is_package=True)) == {
        ("cflengine.system", "f"), ("cflengine.system.g", "h"), ("cflengine.i", "j"),
    }  # fmt: skip
    assert "cflengine.text.token_kernels" in own(PACKAGE / "text" / "tokens.py")
    assert "numpy" in foreign(PACKAGE / "text" / "tokens.py") and "re" not in foreign(PACKAGE / "text" / "tokens.py")
    assert beyond([PACKAGE / "text" / "tokens.py"], "cflengine.engine"), "a rule that nothing breaks sees nothing"


def test_there_is_something_to_check():
    assert "compression" in SYSTEMS and len(SOURCES) > 200 and len(KERNELS) > 30 and len(APP) > 100
    assert all(files_of(name) for name in ("engine", "text", "linear", "verify", "cli", "experiments"))


def test_layers_know_only_what_is_below():
    assert not beyond(files_of("engine"), "cflengine.engine", "cflengine._version")
    assert not beyond(files_of("text"), "cflengine.text", "cflengine.engine", "cflengine._version")
    assert not beyond(files_of("linear"), *BELOW)
    for system in SYSTEMS:
        assert not beyond(files_of(system), f"cflengine.{system}", *ON_ANOTHER.get(system, ()), *BELOW)


#: of a system's packages: those that know themselves and what stands before them, the others know all of these
FIRST = {
    "compression": ("kernels", "model", "passes"),
    "loglinear": ("kernels", "model"),
    "sentence_lasso": ("kernels",),
}
ON_TOP = {"compression.analysis"}  # packages that know the modules beside them: estimator, export ..


def test_packages_of_a_system_know_what_is_below_them():
    for system in SYSTEMS:
        for path in files_of(system):
            beside = f"cflengine.{system}"
            folder = module_of(path).split(".")[2] if len(path.relative_to(PACKAGE / system).parts) > 1 else ""
            names = {name for name in own(path) if within(name, beside)}
            first = FIRST.get(system, ())
            if folder in first:
                allowed = [f"{beside}.{name}" for name in first[: first.index(folder) + 1]]
                assert all(within(name, *allowed) for name in names), f"{shown(path)}: {sorted(names)}"
            elif folder and f"{system}.{folder}" not in ON_TOP:
                beside_it = {module_of(one) for one in (PACKAGE / system).glob("*.py")} - {beside}
                assert not names & beside_it, f"{shown(path)}: {sorted(names & beside_it)}"


def test_a_system_on_another_knows_its_public_names_only():
    import importlib

    for system, others in ON_ANOTHER.items():
        for path in files_of(system):
            for module, name in imports_of(path):
                if within(module, *others):
                    assert module in others and name in importlib.import_module(module).__all__, shown(path)


def test_experiments_use_every_system_and_no_interface():
    assert not beyond(files_of("experiments"), *(f"cflengine.{name}" for name in (*SYSTEMS, "experiments")), *BELOW)
    for path in files_of("experiments"):
        private = [name for module, name in imports_of(path) if within(module, "cflengine") and name.startswith("_")]
        assert not private, shown(path)
    for path in files_of(*SYSTEMS, "engine", "text", "linear", "verify"):
        assert not any(within(name, "cflengine.experiments") for name in own(path)), shown(path)


def test_modules_import_each_other_in_no_circle():
    """What is imported when a module is (not inside functions, not for types alone)."""

    def at_import(path: Path) -> set[str]:
        nodes = [
            node
            for node in tree_of(path).body
            if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        ]
        return full_names(imports_in(nodes, module_of(path), path.name == "__init__.py"))

    names = {module_of(path): path for path in [*SOURCES, *APP]}
    below = {name: {other for other in at_import(path) if other in names} for name, path in names.items()}
    done: set[str] = set()
    for first in names:
        stack = [(first, iter(sorted(below[first])))] if first not in done else []
        open_now = [first]
        while stack:
            name, rest = stack[-1]
            other = next(rest, None)
            if other is None:
                done.add(name)
                stack.pop()
                open_now.pop()
            elif other not in done and other != name:
                assert other not in open_now, " -> ".join([*open_now[open_now.index(other) :], other])
                stack.append((other, iter(sorted(below[other]))))
                open_now.append(other)


def test_folders_and_files_can_be_overlooked():
    for top in (PACKAGE, ROOT / "pages", ROOT / "benchmarks", ROOT / "tests"):
        folders = {path.parent for path in top.rglob("*.py")}
        crowded = {shown(folder): n for folder in folders if (n := len(list(folder.glob("[!_]*.py")))) > MOST_MODULES}
        assert not crowded
    long = {
        shown(path): n for path in [*SOURCES, *APP] if (n := len(path.read_text("utf-8").splitlines())) > MOST_LINES
    }
    assert not long


def test_checks_rest_on_nothing_that_is_compiled():
    """What imports no kernels directly may do so by another module: the check of that runs a verification."""
    for path in files_of("verify"):
        assert not any(is_kernels(name) or "solve" in name for name in own(path)), shown(path)
        assert not any(within(name, "cflengine.cli", "cflengine.experiments") for name in own(path)), shown(path)
        assert not foreign(path) & {"numba", "sklearn"}, shown(path)


def test_mathematics_and_certificates_rest_on_numpy_alone():
    found = [path for path in files_of(*SYSTEMS) if path.name in ("problem.py", "certificate.py", "margin_loss.py")]
    assert len(found) >= 2 * len(SYSTEMS) - 1
    for path in found:
        beside = module_of(path).rsplit(".", 1)[0]
        allowed = {f"{beside}.problem"} if path.name == "certificate.py" else set()
        allowed |= {f"{beside}.margin_loss"} if path.name != "margin_loss.py" else set()
        assert foreign(path) <= {"numpy", "scipy"}, shown(path)
        assert own(path) <= allowed | {"cflengine.engine.gaps"}, f"{shown(path)}: rounding outward is all they share"


def test_kernels_know_kernels_only_and_are_all_compiled():
    for path in KERNELS:
        assert foreign(path) <= {"numba", "numpy"}, shown(path)
        assert all(name == "cflengine.engine.jit" or is_kernels(name) for name in own(path)), shown(path)
        functions = [node for node in tree_of(path).body if isinstance(node, ast.FunctionDef)]
        jit = "cflengine.engine.jit" in own(path)
        assert jit or not functions, f"{shown(path)}: kernels take their decorator from the engine"
        for node in functions:
            (decorator,) = _decorators(node)
            known = decorator in ("kernel", "loose_kernel") or decorator.startswith("parallel_kernel(")
            assert known, f"{shown(path)}: {node.name}"


def _decorators(node: ast.FunctionDef) -> list[str]:
    return [ast.unparse(decorator) for decorator in node.decorator_list]


def test_parallel_kernels_go_over_their_chunk_and_give_nothing_back():
    """Their calls are divided: what stands outside the loop is done by every thread, and what one returned is lost."""
    seen = 0
    for path in KERNELS:
        for node in tree_of(path).body:
            if not isinstance(node, ast.FunctionDef) or "parallel_kernel" not in _decorators(node)[0]:
                continue
            seen += 1
            loops = [each for each in ast.walk(node) if isinstance(each, ast.For)]
            chunks = [loop for loop in loops if "chunk[" in ast.unparse(loop.iter)]
            assert [ast.unparse(loop.iter) for loop in chunks] == ["range(chunk[0], chunk[1])"], node.name
            assert not any(isinstance(each, ast.Return) for each in ast.walk(node)), node.name
            outside = [each for each in node.body if isinstance(each, ast.For) and each not in chunks]
            assert not outside, node.name
    assert seen > 40


MOST_ARGUMENTS = 8  # by position: what more of them travel together is a NamedTuple


def test_no_function_takes_more_than_a_few_arguments():
    for path in [*SOURCES, *BESIDE, *APP]:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
                count = len([name for name in names if name not in ("self", "cls")])
                assert count <= MOST_ARGUMENTS, f"{shown(path)}: {node.name} takes {count}"


def test_jit_decorators_stand_in_files_of_kernels():
    for path in [path for path in files_of(*SYSTEMS, "linear") if path not in KERNELS]:
        names = {name for module, name in imports_of(path) if module == "cflengine.engine.jit"}
        assert names <= {"threads", "one_blas_thread"}, shown(path)


JIT_MAKERS = {"njit", "jit", "vectorize", "guvectorize", "jitclass", "stencil", "cfunc"}


def test_only_the_engine_makes_jit_decorators():
    for path in [path for path in SOURCES if path != PACKAGE / "engine" / "jit.py"]:
        named = {name for module, name in imports_of(path) if module.split(".")[0] == "numba"}
        assert not named & JIT_MAKERS, shown(path)
        for node in ast.walk(tree_of(path)):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in ("numba", "nb")
            ):
                assert node.attr not in JIT_MAKERS, shown(path)


#: sums that no certificate rests on: directions of L-BFGS
LOOSE = {
    "loglinear/kernels/history.py": {"four_dots"},
    "embedding/kernels_median.py": {"sum_outside"},  # of a width, which `verify` counts again
}


def test_decorators_cache_release_the_gil_and_reorder_no_sum_of_a_certificate():
    def value_of(node: ast.expr):
        return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)

    calls = {
        node.targets[0].id: {keyword.arg: value_of(keyword.value) for keyword in node.value.keywords}
        for node in tree_of(PACKAGE / "engine" / "jit.py").body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "njit"
    }
    common = {"cache": True, "nogil": True, "error_model": "numpy"}
    assert calls == {"kernel": common, "loose_kernel": common | {"fastmath": {"reassoc"}}}
    found = {
        path.relative_to(PACKAGE).as_posix(): {
            node.name
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.FunctionDef) and "loose_kernel" in map(ast.unparse, node.decorator_list)
        }
        for path in SOURCES
        if any(name == "loose_kernel" for _, name in imports_of(path))
    }
    assert found == LOOSE


def test_user_interfaces_stay_out_of_the_package_and_what_is_beside_it():
    for path in SOURCES:
        inside = {"streamlit", "plotly", "starlette", "pages", "app", "benchmarks", "tests"}
        assert not foreign(path) & inside, shown(path)
    for path in BESIDE:
        assert not foreign(path) & {"streamlit", "plotly", "pages", "app"}, shown(path)


def test_only_the_command_line_prints():
    for path in [path for path in SOURCES if system_of(path) != "cli"]:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", f"{shown(path)}, line {node.lineno}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
                assert node.attr not in ("stdout", "stderr"), f"{shown(path)}, line {node.lineno}"


def test_users_of_the_package_import_public_names_only():
    """From a package's ``__init__``, not from where a name happens to stand."""
    import importlib

    for path in [*APP, *BESIDE, *files_of("cli")]:
        for module, name in imports_of(path):
            if not within(module, "cflengine") or within(module, "cflengine._version"):
                continue
            if path in SOURCES and within(module, "cflengine.cli"):  # the command's own modules
                continue
            assert module.count(".") <= 1, f"{shown(path)}: from {module} import {name}"
            if name:
                assert name in importlib.import_module(module).__all__, f"{shown(path)}: from {module} import {name}"


def test_pages_start_with_the_guard():
    """Three lines before anything else: a deep link must not run a page without ``app.py``."""
    assert len(PAGES) >= 20
    for path in PAGES:
        body = tree_of(path).body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        body = [node for node in body if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
        assert [ast.unparse(node) for node in body[:2]] == [
            "from pages.parts.shared.guard import through_router",
            "through_router()",
        ], shown(path)


def test_importing_the_package_loads_neither_numba_nor_scikit_learn():
    """Names are resolved on first use, so that ``cflengine --help`` and the app's first paint are quick."""
    program = (
        "import sys, cflengine, cflengine.cli;"
        "print([m for m in ('numba', 'sklearn', 'streamlit', 'scipy') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert answer.stdout.strip() == "[]"


def test_public_names_of_the_package_resolve():
    import cflengine

    for name in cflengine.__all__:
        assert getattr(cflengine, name) is not None
    assert set(dir(cflengine)) == set(cflengine.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        cflengine.no_such_name
