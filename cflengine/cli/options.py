"""Options that several commands share: what is read, what is modelled, how it is solved."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cflengine.cli.values import names, number, pattern
from cflengine.engine import InputError
from cflengine.text import PRESETS, asked_pattern

# option -> the solvers it is for; every solver takes a time limit
SOLVER_OPTIONS = {
    "gap": ("guided", "sharded", "exact", "homotopy", "reweighting", "relay"),
    "relaxation_gap": ("guided", "sharded", "homotopy", "relay"),
    "shards": ("sharded",),
    "scratch": ("sharded",),
    "cluster": ("sharded",),
    "last_zeta": ("homotopy", "relay"),
    "stage_iterations": ("homotopy", "relay"),
    "rounds": ("reweighting",),
}


_OF_NETWORKS = (
    "regulariser", "group", "lam", "dimension", "initial", "epochs", "batch_size", "learning_rate", "patience",
    "max_length", "max_gradient", "checkpoint",
)  # fmt: skip
# options, another option, and its values with which they play no part
UNUSED_WITH: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...] = (
    (("counting", "max_gram", "lam", "sentence_borders"), "features", ("words",)),
    (("temperature", "literal_cost"), "counting", ("pointers", "occurrences")),
    (("random_features",), "kernel", ("linear",)),
    (("hidden",), "network", ("none", "mean")),
    (_OF_NETWORKS, "network", ("none",)),
    (("lam",), "regulariser", ("none",)),
)


def refuse_unused(arguments: argparse.Namespace, given: Container[str]) -> None:
    """InputError for an option that plays no part beside the others; given: those that the command line has."""
    for options, other, values in UNUSED_WITH:
        own, name = getattr(arguments, other, None), next((one for one in options if one in given), None)
        if name is not None and own in values:
            option, beside = (f"--{one.replace('_', '-')}" for one in (name, other))
            raise InputError(f"{option} plays no part with {beside} {own}: leave it out, or give another {beside}.")


def add_documents(command: argparse.ArgumentParser, *, min_words: int = 1) -> Any:
    """INPUT and which documents are in it; returns the group. min_words: the default, and the least."""
    source = command.add_argument_group("reading")
    source.add_argument(
        "input", metavar="INPUT", nargs="+",
        help="files or folders (see above), patterns such as 'posts/*.csv', addresses such as s3://… (need fsspec)",
    )  # fmt: skip
    source.add_argument(
        "--text-column",
        metavar="NAME",
        help="column that holds the text (default: found); a field of an object in JSON is a column outer.inner",
    )
    source.add_argument(
        "--documents",
        choices=("line", "paragraph"),
        default="line",
        help="TXT: what a document is (default: %(default)s)",
    )
    source.add_argument(
        "--min-words",
        type=number(int, min_words),
        default=min_words,
        metavar="N",
        help="leave out documents of fewer words (default: %(default)s)",
    )
    source.add_argument("--limit", type=number(int, 1), metavar="N", help="only the first N documents")
    source.add_argument("--sheet", metavar="NAME", help="Excel: which one (default: the first with records)")
    source.add_argument("--strip-html", action="store_true", help="take tags and &references; of HTML out of the texts")
    add_encoding(source)
    return source


def add_encoding(group: Any) -> None:
    """How files are decoded."""
    group.add_argument("--encoding", metavar="NAME", help="of text files (default: found, and said if not UTF-8)")


def add_reading(command: argparse.ArgumentParser, token_pattern: str = r"\w+|[^\w\s]", *, grams: bool = True) -> None:
    """INPUT and how it is read; token_pattern: the default, for the help; grams: whether K-grams are made of it."""
    source = add_documents(command)
    tokens = source.add_mutually_exclusive_group()
    tokens.add_argument(
        "--tokens", choices=tuple(PRESETS), metavar="NAME",
        help="what a token is: words; contractions (don't stays whole); social (@names, #topics, addresses, emoji); "
        "characters; dictionary (Chinese, Japanese, Thai: needs the extra icu)",
    )  # fmt: skip
    tokens.add_argument(
        "--token-pattern", metavar="REGEX", type=pattern, help=f"every match is a token (default: {token_pattern})"
    )
    source.add_argument(
        "--drop-punctuation", action="store_true", help="punctuation marks are no tokens (words and classes: always so)"
    )
    source.add_argument("--keep-case", action="store_true", help="do not lower-case tokens")
    if grams:
        source.add_argument("--sentence-borders", action="store_true", help="K-grams stay within sentences")


def settle_tokens(arguments: argparse.Namespace) -> None:
    """Make of --tokens and --drop-punctuation a token pattern. Raises ValueError where they contradict each other."""
    if getattr(arguments, "drop_punctuation", False) and arguments.token_pattern is not None:
        raise InputError("--drop-punctuation is for --tokens; a --token-pattern says itself what is a token.")
    asked = asked_pattern(arguments.command, vars(arguments))
    if asked is not None:
        arguments.token_pattern = asked


def settle_solver(arguments: argparse.Namespace, given: Container[str]) -> None:
    """Where --shards or --cluster is given, the solver is the sharded one, unless another is asked for; given: options
    that the command line has."""
    asked = any(getattr(arguments, name, None) is not None for name in ("shards", "cluster"))
    if asked and hasattr(arguments, "solver") and "solver" not in given:
        arguments.solver = "sharded"


def add_labels(command: argparse.ArgumentParser, *, dev: bool) -> Any:
    """Which labels, and how documents are split; dev: whether there is a development set. Returns the group."""
    data = command.add_argument_group("labels and splits")
    data.add_argument("--label-column", required=True, metavar="NAME", help="column that holds the labels")
    data.add_argument(
        "--classes", metavar="A,B", type=names,
        help='classes, "quoted" where they hold a comma (default: all in the column)',
    )  # fmt: skip
    split = "a share such as 0.2, or COLUMN=VALUE"
    if dev:
        data.add_argument(
            "--dev-split", default="0.2", metavar="S", help=f"to choose parameters by: {split} (default: 0.2)"
        )
    data.add_argument("--test-split", metavar="S", help=f"to judge by: {split} (default: none)")
    data.add_argument("--seed", type=number(int, 0), default=0, metavar="N", help="of random splits (default: 0)")
    return data


def add_counting(model: Any) -> None:
    """How K-grams are counted."""
    model.add_argument(
        "--counting", choices=("pointers", "occurrences", "soft"), default="pointers",
        help="of K-grams: pointers (the paper's, default); every occurrence; soft: expected uses over all encodings",
    )  # fmt: skip
    model.add_argument(
        "--temperature", type=number(float, 1e-6), default=3.0, metavar="T",
        help="of --counting soft: near 0 the fewest pointers, large all encodings alike (default: 3)",
    )  # fmt: skip
    model.add_argument(
        "--literal-cost", type=number(float, 0, 1e6), metavar="C",
        help="of --counting soft: a word outside the dictionary passes at this cost, a pointer at 1 (default: 3)",
    )  # fmt: skip


def counting(arguments: argparse.Namespace) -> dict[str, Any]:
    """What :func:`add_counting` asked for, as parameters of the K-gram estimator; nothing where it was not asked."""
    return {
        name: getattr(arguments, name)
        for name in ("counting", "temperature", "literal_cost")
        if hasattr(arguments, name)
    }


def add_model(model: Any) -> None:
    """K, the weighting of features, how they are counted."""
    model.add_argument(
        "--max-gram",
        type=number(int, 1, 8),
        default=3,
        metavar="K",
        help="longest K-gram in words, 1 to 8 (default: 3)",
    )
    model.add_argument(
        "--weighting",
        choices=("count", "tf", "idf", "tf-idf", "damped"),
        default="count",
        help="of the features; damped: √count × idf, a document scaled to length 1 (default: count)",
    )
    model.add_argument(
        "--plain-cost", type=number(float, 0, 1e6), metavar="C",
        help="a single word stands in the text, at cost C, and needs no entry (external macro data compression, "
        "§3.2; default: words are entries like any phrase)",
    )  # fmt: skip
    add_counting(model)


def gram_features(arguments: argparse.Namespace, **others: Any) -> Any:
    """The K-gram estimator that the arguments ask for; others: parameters of it beside K and the tokens."""
    from cflengine.compression import CompressiveFeatures
    from cflengine.text import DEFAULT_TOKEN_PATTERN

    return CompressiveFeatures(
        max_gram=arguments.max_gram,
        token_pattern=arguments.token_pattern or DEFAULT_TOKEN_PATTERN,
        lowercase=not arguments.keep_case,
        sentence_borders=arguments.sentence_borders,
        plain_cost=getattr(arguments, "plain_cost", None),
        **counting(arguments),
        **others,
    )


def text_pipeline(arguments: argparse.Namespace, clock: Clock) -> Any:
    """The scikit-learn pipeline from texts to a matrix that the arguments ask for; K-grams take half of what time is
    left at most, so that something can be learnt from them."""
    from cflengine.linear import vectorizer

    own = {"lam": arguments.lam} if hasattr(arguments, "lam") else {}
    own |= {"n_threads": arguments.threads}
    if clock.left is not None and arguments.features != "words":
        from cflengine.compression import GuidedSettings

        own["settings"] = GuidedSettings(time_limit=clock.left / 2.0)
    grams = None if arguments.features == "words" else gram_features(arguments, **own)
    pattern, lowercase = arguments.token_pattern, not arguments.keep_case
    return vectorizer(arguments.weighting, grams=grams, token_pattern=pattern, lowercase=lowercase)


def add_limits(solver: Any) -> None:
    """What every solver takes."""
    solver.add_argument(
        "--time-limit",
        type=number(float, 0.001),
        metavar="S",
        help="seconds for the command: time to prove and write is kept; the best solution is written in any case",
    )
    solver.add_argument("--threads", type=number(int, 1), metavar="N", help="default: all cores")


def add_solver(command: argparse.ArgumentParser) -> None:
    """The solver and its settings; those of another solver are refused by :func:`solver_settings`."""
    solver = command.add_argument_group("solver")
    solver.add_argument(
        "--solver",
        choices=("guided", "homotopy", "reweighting", "relay", "sharded", "exact"),
        default="guided",
        help="guided: nearly optimal and fast (default); homotopy, reweighting: the papers'; relay: homotopy, then "
        "guided; sharded: guided, for corpora larger than memory; exact: small corpora",
    )
    solver.add_argument(
        "--shards", type=number(int, 1), metavar="N",
        help="sharded: cut the documents into N parts that wait on disk, so that memory goes with the largest "
        "(default: 4; implies --solver sharded)",
    )  # fmt: skip
    solver.add_argument(
        "--scratch",
        metavar="DIR",
        help="sharded: folder in which parts wait for their turn; a scheduler's workers use their own (default: the "
        "system's temporary folder)",
    )
    solver.add_argument(
        "--cluster", metavar="ADDRESS",
        help="sharded: work on them side by side: local (this machine's cores) or a Dask scheduler, tcp://HOST:8786 "
        "(needs the extra cluster; implies --solver sharded; workers have threads of their own)",
    )  # fmt: skip
    solver.add_argument(
        "--gap",
        type=number(float, 0),
        metavar="G",
        help="stop at this proved gap (default: guided and sharded 0.001, exact 0, the papers' by their own rules)",
    )
    solver.add_argument(
        "--relaxation-gap", type=number(float, 1e-12), metavar="G",
        help="guided, sharded, homotopy, relay: end the relaxation at this relative gap "
        "(default: a quarter of --gap; by residuals)",
    )  # fmt: skip
    solver.add_argument(
        "--last-zeta", type=number(float, 0, 1), metavar="ζ", help="homotopy, relay: stop at this ζ (default: 1)"
    )
    solver.add_argument(
        "--stage-iterations", type=number(int, 1), metavar="N",
        help="homotopy, relay: steps at each ζ > 0, at most (default: 150)",
    )  # fmt: skip
    solver.add_argument("--rounds", type=number(int, 1), metavar="N", help="reweighting: rounds, at most (default: 20)")
    solver.add_argument(
        "--polish", action="store_true", help="homotopy, reweighting: improve the result by guided's local search"
    )
    add_limits(solver)


def solver_settings(arguments: argparse.Namespace, time_limit: float | None = None) -> Any:
    """The settings of the chosen solver, with so many seconds. Raises ValueError for an option that is another
    solver's."""
    from cflengine.compression import SOLVERS

    given = {name: getattr(arguments, name) for name in SOLVER_OPTIONS if getattr(arguments, name) is not None}
    for name in given:
        if arguments.solver not in SOLVER_OPTIONS[name]:
            owners = " or ".join(SOLVER_OPTIONS[name])
            raise InputError(f"--{name.replace('_', '-')} is for --solver {owners}, not {arguments.solver}.")
    if "scratch" in given and not Path(given["scratch"]).is_dir():
        raise InputError(f"--scratch {given['scratch']} is no folder; make it first.")
    solver = SOLVERS.find(arguments.solver)
    if arguments.solver == "relay":
        from cflengine.compression import HomotopySettings

        own = {name: given.pop(name) for name in ("relaxation_gap", "last_zeta", "stage_iterations") if name in given}
        given["homotopy"] = HomotopySettings(**own)
    if "gap" in given:
        given["tol"] = given.pop("gap")
    if arguments.solver == "sharded" and "relaxation_gap" in given:
        from cflengine.compression import GuidedSettings

        given["guided"] = GuidedSettings(relaxation_gap=given.pop("relaxation_gap"))
    return solver.check(solver.settings(**given, time_limit=time_limit), polish=arguments.polish)


def add_output(command: argparse.ArgumentParser, *, required: bool = True) -> argparse.ArgumentParser:
    """Where results go; returns the command."""
    default = "" if required else "; default: nothing is written"
    command.add_argument(
        "--out",
        required=required,
        metavar="DIR",
        help=f"folder to write to (made if absent{default}); files of these names that no run wrote become NAME.bak",
    )
    command.add_argument("--quiet", action="store_true", help="no progress bar, no summary")
    return command


def plain_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """What was asked for, as a report has it."""
    return {key: value for key, value in vars(arguments).items() if key not in ("run", "command", "debug")}


def run_facts(arguments: argparse.Namespace) -> dict[str, Any]:
    """What a report says of the command that made it, so that it can be checked and repeated."""
    own = {"command": arguments.command, "arguments": plain_arguments(arguments)}
    names = [arguments.input] if isinstance(arguments.input, str) else arguments.input
    template = getattr(arguments, "template", None)
    own |= {} if template is None else {"template_path": str(Path(template).resolve())}
    return own | {"input_path": [str(Path(name).resolve()) for name in names]}


class Clock:
    """The time of one command: reading, solving, proving and writing."""

    def __init__(self, limit: float | None) -> None:
        self.began = time.monotonic()
        self.ends = None if limit is None else self.began + limit

    @property
    def solving_ends(self) -> float | None:
        """When a solver that begins now has to end: proving and writing take about as long as all that came before it,
        and get at most half of what is left. None without a limit."""
        if self.ends is None:
            return None
        now = time.monotonic()
        return self.ends - min(now - self.began, max(self.ends - now, 0.0) / 2.0)

    @property
    def left(self) -> float | None:
        """Seconds that a solver which begins now has, never none at all; None without a limit."""
        ends = self.solving_ends
        return None if ends is None else max(ends - time.monotonic(), 1e-3)


@contextmanager
def results(out: Path) -> Iterator[Path]:
    """A folder to write all results to, which then take the place of the last run's."""
    from cflengine.engine import disk_full_said, new_files

    try:
        with disk_full_said(out), new_files(out, lambda text: print(f"cflengine: {text}", file=sys.stderr)) as folder:
            yield folder
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"and {out} is as it was before") from None
