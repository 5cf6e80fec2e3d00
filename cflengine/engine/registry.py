"""Solvers by name, with what each of them can do: for estimators, commands and the app."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cflengine.engine.checks import InputError, check_choice
from cflengine.engine.settings import Limits

#: what a solver may be able to do:
#:   pointer costs      costs given pointer by pointer, not only by length
#:   warm start         begin from a solution that is known
#:   polish             the local search can improve its result
#:   bounds             it proves a bound while it runs
#:   many classes       all classes in one problem, not one against the rest
#:   sentences          models of sequences, whose labels depend on each other
#:   lasso              an ℓ1 penalty
#:   watch              it tells a Watch what it does before its first event
ABILITIES = ("pointer costs", "warm start", "polish", "bounds", "many classes", "sentences", "lasso", "watch")


@dataclass(frozen=True)
class Solver:
    """A solver as its system's registry has it.

    Parameters
    ----------
    name : str
        By which it is asked for.
    summary : str
        One line that says what it is.
    settings : type[Limits]
        The class of its settings.
    abilities : frozenset[str]
        What it can do.
    solve : Callable[..., Any]
        The function that solves, or that makes the steps which its system's solve() takes.
    """

    name: str
    summary: str
    settings: type[Limits]
    abilities: frozenset[str]
    solve: Callable[..., Any]

    def __post_init__(self) -> None:
        unknown = self.abilities - set(ABILITIES)
        if unknown:
            raise InputError(f"no solver can {sorted(unknown)[0]!r}: abilities are {', '.join(ABILITIES)}.")

    def can(self, ability: str) -> bool:
        """Whether it has one of :data:`ABILITIES`."""
        return ability in self.abilities

    def check(self, given: Limits | None, *, polish: bool = False, **defaults: Any) -> Any:
        """``given``, or the solver's own settings with ``defaults`` where that is None; polish: with the local search.

        ValueError for another solver's settings, and for the polish of a result that needs none.
        """
        if given is not None and type(given) is not self.settings:
            raise InputError(f"settings must be a {self.settings.__name__} or None, not {given!r}.")
        found = self.settings(**defaults) if given is None else given
        if not polish:
            return found
        if not self.can("polish"):
            raise InputError(
                f"polish improves results that leave something to find; the solver {self.name!r} needs none."
            )
        asked: dict[str, Any] = {"polish": True}
        return replace(found, **asked)


class Registry(Mapping[str, Solver]):
    """The solvers of one system, in the order in which they are offered; the first is the default."""

    def __init__(self, *solvers: Solver) -> None:
        self._solvers = {solver.name: solver for solver in solvers}

    def __getitem__(self, name: str) -> Solver:
        return self._solvers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._solvers)

    def __len__(self) -> int:
        return len(self._solvers)

    def find(self, name: Any) -> Solver:
        """The solver of that name. ValueError if there is none."""
        return self._solvers[check_choice(name, "solver", self._solvers)]

    def able(self, ability: str) -> list[str]:
        """The names of those that can."""
        return [name for name, solver in self._solvers.items() if solver.can(ability)]
