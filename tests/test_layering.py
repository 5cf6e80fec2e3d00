"""Who may import whom, read from the sources; see the design: engine <- text <- linear <- systems <- {cli, app}."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
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
APP = [path for path in [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))] if path.exists()]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports_in(tree: ast.AST, module: str, is_package: bool = False) -> Iterator[tuple[str, str]]:
    """(module, name) of every import, also inside functions; ("x.y", "") for ``import x.y``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")[: None if is_package and node.level == 1 else is_package - node.level]
                base = ".".join([*parents, *([base] if base else [])])
            yield from ((base, alias.name) for alias in node.names)


def imports_of(path: Path) -> set[tuple[str, str]]:
    return set(imports_in(tree_of(path), module_of(path), path.name == "__init__.py"))


def modules_imported(path: Path) -> set[str]:
    """Full names: ``from cflengine.text import tokens`` is an import of cflengine.text.tokens."""
    found = set()
    for base, name in imports_of(path):
        below = ROOT.joinpath(*base.split("."), name)
        is_module = name and (below.with_suffix(".py").exists() or (below / "__init__.py").exists())
        found.add(f"{base}.{name}" if is_module else base)
    return found


def own(path: Path) -> set[str]:
    """What a file imports of the package."""
    return {name for name in modules_imported(path) if name.split(".")[0] == "cflengine"}


def foreign(path: Path) -> set[str]:
    """Top-level names of what it imports from elsewhere, the standard library left out."""
    names = {name.split(".")[0] for name in modules_imported(path)}
    return names - {"cflengine"} - sys.stdlib_module_names


def within(name: str, *allowed: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in allowed)


def ids(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def files_of(*folders: str) -> list[Path]:
    return [path for path in SOURCES if path.parent.name in folders]


def each(paths: list[Path]):
    return pytest.mark.parametrize("path", paths, ids=ids(paths))


def test_walker_sees_every_kind_of_import():
    """The rules below are worth as much as this."""
    tree = ast.parse(
        "import a.b\nfrom c import d as e\nfrom . import f\nfrom .g import h\nfrom ..i import j\n"
        "def k():\n    from l.m import n\nif 0:\n    import o as p, q"
    )
    assert set(imports_in(tree, "cflengine.system.file")) == {
        ("a.b", ""), ("c", "d"), ("cflengine.system", "f"), ("cflengine.system.g", "h"), ("cflengine.i", "j"),
        ("l.m", "n"), ("o", ""), ("q", ""),
    }  # fmt: skip
    inside = ast.parse("from . import f\nfrom .g import h\nfrom ..i import j")
    assert set(imports_in(inside, "cflengine.system", is_package=True)) == {
        ("cflengine.system", "f"), ("cflengine.system.g", "h"), ("cflengine.i", "j"),
    }  # fmt: skip
    assert "cflengine.text.token_kernels" in own(PACKAGE / "text" / "tokens.py")
    assert "numpy" in foreign(PACKAGE / "text" / "tokens.py") and "re" not in foreign(PACKAGE / "text" / "tokens.py")


def test_there_is_something_to_check():
    assert "compression" in SYSTEMS and len(SOURCES) > 30 and files_of("engine") and files_of("text")


@each(files_of("engine"))
def test_engine_knows_only_itself(path):
    assert all(within(name, "cflengine.engine", "cflengine._version") for name in own(path))


@each(files_of("text"))
def test_text_knows_only_itself_and_the_engine(path):
    assert all(within(name, "cflengine.text", "cflengine.engine", "cflengine._version") for name in own(path))


BELOW = ("cflengine.linear", "cflengine.text", "cflengine.engine", "cflengine._version")


@each(files_of("linear"))
def test_linear_knows_only_itself_and_what_is_below(path):
    assert all(within(name, *BELOW) for name in own(path))


@each(files_of(*SYSTEMS))
def test_a_system_knows_itself_and_what_is_below(path):
    assert all(within(name, f"cflengine.{path.parent.name}", *BELOW) for name in own(path))


@each(files_of("experiments"))
def test_experiments_use_every_system_and_no_interface(path):
    allowed = [f"cflengine.{system}" for system in (*SYSTEMS, "experiments")]
    assert all(within(name, *allowed, *BELOW) for name in own(path))
    assert not any(name.startswith("_") for module, name in imports_of(path) if within(module, "cflengine"))


@each([path for path in SOURCES if path.parent.name not in ("experiments", "cli")])
def test_no_system_knows_the_experiments(path):
    assert path.parent == PACKAGE or not any(within(name, "cflengine.experiments") for name in own(path))


@each(files_of("verify"))
def test_checks_rest_on_nothing_that_is_compiled(path):
    """What imports no kernels directly may do so by another module: the check of that runs a verification."""
    assert not any("kernels" in name or "solve" in name for name in own(path))
    assert not foreign(path) & {"numba", "sklearn"}


@each([path for path in files_of(*SYSTEMS) if path.name in ("problem.py", "certificate.py")])
def test_mathematics_and_certificates_rest_on_numpy_alone(path):
    assert foreign(path) <= {"numpy", "scipy"}
    allowed = {f"cflengine.{path.parent.name}.problem"} if path.name == "certificate.py" else set()
    assert own(path) <= allowed | {"cflengine.engine.gaps"}, "rounding outward is all they share"


KERNELS = [path for path in SOURCES if "kernels" in path.stem]


@each(KERNELS)
def test_kernels_know_kernels_only(path):
    assert foreign(path) <= {"numba", "numpy"}
    assert all(name == "cflengine.engine.jit" or "kernels" in name.split(".")[-1] for name in own(path))
    assert "cflengine.engine.jit" in own(path), "a file of kernels takes its decorator from the engine"


@each([path for path in SOURCES if path.parent.name in [*SYSTEMS, "linear"] and path not in KERNELS])
def test_jit_decorators_stand_in_files_of_kernels(path):
    names = {name for module, name in imports_of(path) if module == "cflengine.engine.jit"}
    assert names <= {"threads", "one_blas_thread"}


JIT_MAKERS = {"njit", "jit", "vectorize", "guvectorize", "jitclass", "stencil", "cfunc"}


@each([path for path in SOURCES if path != PACKAGE / "engine" / "jit.py"])
def test_only_the_engine_makes_jit_decorators(path):
    named = {name for module, name in imports_of(path) if module.split(".")[0] == "numba"}
    assert not named & JIT_MAKERS
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("numba", "nb"):
            assert node.attr not in JIT_MAKERS


@each(KERNELS)
def test_every_function_in_a_file_of_kernels_is_compiled(path):
    for node in tree_of(path).body:
        if isinstance(node, ast.FunctionDef):
            assert [ast.unparse(decorator) for decorator in node.decorator_list] in (["kernel"], ["parallel_kernel"])


def test_decorators_cache_release_the_gil_and_never_reorder_sums():
    calls = {
        node.targets[0].id: {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.value.keywords}
        for node in tree_of(PACKAGE / "engine" / "jit.py").body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "njit"
    }
    common = {"cache": True, "nogil": True, "error_model": "numpy"}
    assert calls == {"kernel": common, "_parallel": common | {"parallel": True}}


@each(SOURCES)
def test_user_interfaces_stay_out_of_the_package(path):
    assert not foreign(path) & {"streamlit", "plotly", "starlette", "pages", "app", "benchmarks", "tests"}


@each([path for folder in ("sample_data", "benchmarks") for path in sorted((ROOT / folder).glob("*.py"))])
def test_user_interfaces_stay_out_of_data_and_benchmarks(path):
    assert not foreign(path) & {"streamlit", "plotly", "pages", "app"}


@each([path for path in SOURCES if "cli" not in path.parts])
def test_only_the_command_line_prints(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "print", f"line {node.lineno}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
            assert node.attr not in ("stdout", "stderr"), f"line {node.lineno}"


@each(APP)
def test_app_imports_public_names_only(path):
    for module, name in imports_of(path):
        if within(module, "cflengine"):
            private = [part for part in [*module.split("."), name] if part.startswith("_") and part != "__version__"]
            assert not private, f"from {module} import {name}"


@each(PAGES)
def test_page_starts_with_the_guard(path):
    """Three lines before anything else: a deep link must not run a page without ``app.py``."""
    body = tree_of(path).body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    body = [node for node in body if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
    assert [ast.unparse(node) for node in body[:2]] == [
        "from pages.parts.shared.guard import through_router",
        "through_router()",
    ]


def test_importing_the_package_loads_neither_numba_nor_scikit_learn():
    """Names are resolved on first use, so that ``cflengine --help`` and the app's first paint are quick."""
    import subprocess

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
