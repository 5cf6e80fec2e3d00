"""The scikit-learn face of the linear-chain CRF."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cflengine.engine.checks import InputError, check_choice, is_number
from cflengine.engine.estimators import all_or_nothing, clone_sharing_listeners
from cflengine.engine.files import finite
from cflengine.engine.jit import threads
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Listener, Progress
from cflengine.linear.one_vs_rest import warn_unless_converged
from cflengine.linear.parameters import parameters_of, read_parameters, written_parameters
from cflengine.linear.saving import SavedModel, are_labels, label_array, plain_labels, require
from cflengine.loglinear.model.chain import ChainModel, ChainScorer
from cflengine.loglinear.model.problem import ChainData, ChainFeatures, chain_features
from cflengine.loglinear.solvers.registry import SOLVERS, solve
from cflengine.loglinear.solvers.result import LoglinearResult
from cflengine.loglinear.solvers.settings import Settings, history_bytes
from cflengine.loglinear.training import training_data
from cflengine.text.tagging.attributes import AttributeTable
from cflengine.text.tagging.tags import evaluate, score_frame
from cflengine.text.tagging.templates import attribute_maker

_OBJECTIVE = ("c1", "c2", "template")  # which stand by themselves in a file
_SETTINGS = tuple(SOLVERS[name].settings for name in SOLVERS.able("sentences"))


class ChainCRF(SavedModel, BaseEstimator):
    """A linear-chain conditional random field: labels for the tokens of sentences.

    Minimises −Σ log Pr(labels | sentence) + c₁‖w‖₁ + c₂‖w‖²: equations (1) to (3), (6) to (11) of Mathur & Chakrabarti
    (ICDM 2006), with ridge 1/σ² = 2 c₂. Features, c1 and c2 are those of python-crfsuite.

    Parameters
    ----------
    solver : str, default: 'lbfgs'
        "lbfgs" (default; OWL-QN where c1 > 0), or "clustered", the paper's scheme.
    c1 : float, default: 0.0
        Factor of ‖w‖₁, at least 0; for solver "lbfgs" alone. Not both c1 and c2 may be 0.
    c2 : float, default: 1.0
        Factor of ‖w‖² (not its half), at least 0.
    tol : float, default: 0.0001
        Certified relative gap, objective/bound − 1, at which a fit ends.
    template : object, default: None
        None, where tokens are lists of attributes (or mappings of names to numbers or strings); or the text of a CRF++
        template, where tokens are rows of columns; or a callable from a sentence to its tokens' attributes.
    all_possible_states : bool, default: False
        Whether pairs of an attribute and a label have a weight that no training sentence has.
    all_possible_transitions : bool, default: False
        Whether pairs of neighbouring labels have a weight that no training sentence has.
    settings : Settings or None, default: None
        The solver's, tol included.
    max_iter : int, default: 10000
        Of the solver's iterations, where ``settings`` are None.
    time_limit : float or None, default: None
        Seconds, or None.
    random_state : int, default: 0
        Of whatever the solver draws, where ``settings`` are None.
    n_threads : int or None, default: None
        None for all cores.
    listeners : Sequence[Listener], default: ()
        Get every :class:`~cflengine.IterationStats`; False ends the fit early.

    Attributes
    ----------
    classes_ : labels, sorted. state_features_ : DataFrame (attribute, label, weight); transition_features_ : DataFrame
        (before, after, weight). attributes_ : the attributes' names. n_columns_ : of every token that was learnt
        from by a template, None where they differ or there is none. coef_ : float64 (weights,), both in that order.
    duality_gap_ : proved. solver_reason_ : why the fit ended. n_iter_ ; n_passes_ : over the data. trace_ : DataFrame
        with iteration, passes, elapsed_s,
        objective, lower_bound, gap and more. result_ : everything about the solve.

    Raises
    ------
    ValueError for wrong settings, sentences and labels that do not pair up, an empty sentence in training, fewer than
    two labels, no attributes; TypeError for tokens that are none; MemoryLimitError before work that does not fit.
    """

    kind = "chain"

    def __init__(
        self,
        solver: str = "lbfgs",
        *,
        c1: float = 0.0,
        c2: float = 1.0,
        tol: float = 1e-4,
        template: Any = None,
        all_possible_states: bool = False,
        all_possible_transitions: bool = False,
        settings: Settings | None = None,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        random_state: int = 0,
        n_threads: int | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.solver = solver
        self.c1 = c1
        self.c2 = c2
        self.tol = tol
        self.template = template
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.settings = settings
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_threads = n_threads
        self.listeners = listeners

    @all_or_nothing
    def fit(self, sentences: Iterable[Any], labels: Iterable[Sequence[str]]) -> ChainCRF:
        """Learn from sentences and the labels of their tokens.

        Parameters
        ----------
        sentences : Iterable
            Sentences of tokens: each token its attributes (strings), or, with a template, its columns.
        labels : Iterable[Sequence[str]]
            A label for every token of every sentence.

        Returns
        -------
        ChainCRF
            Itself.

        Raises
        ------
        ValueError for wrong settings, sentences of other lengths than their labels, or none; MemoryLimitError, before
        any work, for weights that do not fit.
        """
        settings = self._settings()
        layout = Progress(time_limit=settings.time_limit)  # numbering attributes takes time as well
        attributes_of, transitions = attribute_maker(self.template)
        widths: set[int] = set()
        if isinstance(self.template, str):
            sentences = _in_columns(sentences, widths)
        rows = (attributes_of(sentence) for sentence in _in_time(sentences, layout))
        table, classes, data = training_data(rows, labels)
        features = chain_features(
            data, len(classes), all_states=self.all_possible_states, all_transitions=self.all_possible_transitions,
            transitions=transitions,
        )  # fmt: skip
        limit = None if settings.time_limit is None else max(settings.time_limit - layout.elapsed_s, 1e-6)
        result = self._learn(data, features, settings, Progress(self.listeners, time_limit=limit))
        warn_unless_converged([result])
        self.result_, self.duality_gap_, self.n_iter_ = result, result.gap, result.n_iterations
        self.solver_reason_, self._learnt_with = str(result.reason), parameters_of(self)
        self.n_passes_, self.trace_ = result.n_passes, result.trace.rename(columns={"work": "passes"})
        self.classes_, self.attributes_, self._table = label_array(classes), table.names, table
        self.n_columns_ = widths.pop() if len(widths) == 1 else None
        self._set_weights(features, result.w)
        return self

    def _learn(
        self, data: ChainData, features: ChainFeatures, settings: Settings, progress: Progress
    ) -> LoglinearResult:
        require_bytes(
            history_bytes(settings, features.n_weights, by_lbfgs=True), f"L-BFGS on {features.n_weights:,} weights",
            "take fewer sentences, or a smaller memory of L-BFGS.",
        )  # fmt: skip
        with threads(self.n_threads, max(data.X.nnz, features.n_weights)):
            model = ChainModel(data, features, progress.poll)
            return solve(
                model, 2.0 * self.c2, self.solver, settings, lasso=float(self.c1), n_tied=features.n_states,
                progress=progress,
            )  # fmt: skip

    def _set_weights(self, features: ChainFeatures, w: np.ndarray) -> None:
        self._scorer, self.coef_ = ChainScorer(features, w), w

    @property
    def state_features_(self) -> pd.DataFrame:
        check_is_fitted(self, "coef_")
        features = self._scorer.features
        attribute = np.repeat(np.arange(len(features.ptr) - 1), np.diff(features.ptr))
        names = np.array(self.attributes_, dtype=object)
        w = self.coef_[: features.n_states]
        return pd.DataFrame({"attribute": names[attribute], "label": self.classes_[features.label], "weight": w})

    @property
    def transition_features_(self) -> pd.DataFrame:
        check_is_fitted(self, "coef_")
        features = self._scorer.features
        before, after = self.classes_[features.before], self.classes_[features.after]
        return pd.DataFrame({"before": before, "after": after, "weight": self.coef_[features.n_states :]})

    def predict(self, sentences: Iterable[Any]) -> list[list[str]]:
        """The likeliest labels.

        Parameters
        ----------
        sentences : Iterable
            As ``fit`` takes them.

        Returns
        -------
        list[list[str]]
            A label for every token of every sentence; an empty sentence has none.
        """
        X, ptr = self._matrix(sentences)
        with threads(self.n_threads):
            label = self._scorer.decode(X, ptr)
        return [self.classes_[label[first:last]].tolist() for first, last in itertools.pairwise(ptr)]

    def predict_marginals(self, sentences: Iterable[Any]) -> list[np.ndarray]:
        """Pr(label of a token | its sentence).

        Parameters
        ----------
        sentences : Iterable
            As ``fit`` takes them.

        Returns
        -------
        list[numpy.ndarray]
            float64 (tokens, labels) for every sentence, in the order of classes_.
        """
        X, ptr = self._matrix(sentences)
        with threads(self.n_threads):
            found = self._scorer.marginals(X, ptr)
        return [found[first:last] for first, last in itertools.pairwise(ptr)]

    def score(self, sentences: Iterable[Any], labels: Iterable[Sequence[str]]) -> float:
        """Share of tokens with the right label. Labels that training had not are never right.

        Parameters
        ----------
        sentences : Iterable
            As ``fit`` takes them.
        labels : Iterable[Sequence[str]]
            The right labels of every sentence's tokens.

        Returns
        -------
        float
            From 0 to 1; NaN without a token.

        Raises
        ------
        ValueError for a sentence with more or fewer labels than tokens.
        """
        right = total = 0
        truths, guesses = list(labels), self.predict(sentences)
        if len(truths) != len(guesses):
            raise InputError(f"there are {len(guesses)} sentences but {len(truths)} sequences of labels.")
        for truth, guess in zip(truths, guesses, strict=True):
            if len(truth) != len(guess):
                raise InputError(f"a sentence of {len(guess)} tokens has {len(truth)} labels.")
            right += sum(a == b for a, b in zip(truth, guess, strict=True))
            total += len(guess)
        return right / total if total else float("nan")

    def evaluate(self, sentences: Iterable[Any], labels: Iterable[Sequence[str]]) -> pd.DataFrame:
        """Precision, recall and F1 by kind of entity, as conlleval counts them.

        Parameters
        ----------
        sentences : Iterable
            As ``fit`` takes them.
        labels : Iterable[Sequence[str]]
            The right tags of every sentence's tokens.

        Returns
        -------
        pandas.DataFrame
            A row a kind; the row "" is of all kinds.
        """
        return score_frame(evaluate(labels, self.predict(sentences)))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The model as values that JSON has, and arrays."""
        learnt = self._learnt_with
        if learnt["template"] is not None and not isinstance(learnt["template"], str):
            raise InputError(
                "a model whose template is a Python function cannot be saved: give the template as text, or make the "
                "attributes yourself and leave it out."
            )
        features = self._scorer.features
        header = {
            "classes": plain_labels(self.classes_),
            "attributes": self.attributes_,
            "gap": finite(self.duality_gap_),
            "reason": self.solver_reason_,
            "c1": float(learnt["c1"]),
            "c2": float(learnt["c2"]),
            "template": learnt["template"],
            "columns": self.n_columns_,
            "parameters": written_parameters(self, without=_OBJECTIVE),
        }
        return header, {
            "w": self.coef_, "ptr": features.ptr, "label": features.label, "before": features.before,
            "after": features.after,
        }  # fmt: skip

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> ChainCRF:
        """The other way; name: of the file. Raises ModelFileError where the parts do not fit together."""
        require({"w", "ptr", "label", "before", "after"} <= set(arrays), name)
        require({"classes", "attributes", "gap", "reason", *_OBJECTIVE} <= set(header), name)
        require(are_labels(header["classes"]) and isinstance(header["attributes"], list), name)
        require(all(isinstance(label, str) for label in header["attributes"]), name)
        require(header["gap"] is None or is_number(header["gap"]), name)
        ptr, label, before, after = (arrays[key] for key in ("ptr", "label", "before", "after"))
        features = ChainFeatures(ptr, label, before, after, len(header["classes"]))
        require(features.takes(arrays["w"], len(header["attributes"])), name)
        given = header.get("parameters", {}) | {key: header[key] for key in _OBJECTIVE}
        model = cls(**read_parameters(cls, given, name, least=_OBJECTIVE, settings=_SETTINGS))
        model._settings()
        require(model.template is None or isinstance(model.template, str), name)
        columns = header.get("columns")  # files of older versions have none
        require(columns is None or (isinstance(columns, int) and columns > 0), name)
        model.n_columns_ = columns
        model.classes_, model.attributes_ = label_array(header["classes"]), header["attributes"]
        model._table = AttributeTable(header["attributes"])
        model.duality_gap_ = np.inf if header["gap"] is None else header["gap"]
        model.solver_reason_, model._learnt_with = str(header["reason"]), parameters_of(model)
        model._set_weights(features, arrays["w"])
        return model

    def _matrix(self, sentences: Iterable[Any]) -> tuple[Any, np.ndarray]:
        check_is_fitted(self, "coef_")
        template = self._learnt_with["template"]
        attributes_of, _ = attribute_maker(template)
        sentences = _in_columns(sentences, set()) if isinstance(template, str) else sentences
        return self._table.matrix(attributes_of(sentence) for sentence in sentences)

    def _settings(self) -> Settings:
        check_choice(self.solver, "solver", SOLVERS.able("sentences"))
        for name in ("c1", "c2"):
            value = getattr(self, name)
            if not (is_number(value) and 0 <= value < float("inf")):
                raise InputError(f"{name} must be a number of at least 0, not {value!r}.")
        if self.c1 == 0 and self.c2 == 0:
            raise InputError("c1 and c2 are both 0: sentences that can be separated would have no best weights.")
        if self.c2 == 0 and self.solver != "lbfgs":
            raise InputError(f"solver {self.solver!r} needs c2 above 0.")
        solver = SOLVERS.find(self.solver)
        names = ("tol", "max_iter", "time_limit", "random_state")
        own: dict[str, Any] = {name: getattr(self, name) for name in names if hasattr(solver.settings, name)}
        return solver.check(self.settings, **own)

    def __getstate__(self) -> dict[str, Any]:
        """Without the solve's events and duals, which are more than the weights."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("result_", "trace_")}

    def __sklearn_clone__(self) -> Any:
        return clone_sharing_listeners(self)


def _in_columns(sentences: Iterable[Any], widths: set[int]) -> Iterator[Any]:
    """The sentences; how many columns their tokens have goes into ``widths``. InputError for tokens without columns,
    which a template could not read."""
    for sentence in sentences:
        for cells in sentence:
            if not isinstance(cells, Sequence) or isinstance(cells, str):
                raise InputError(f"with a template every token is a row of columns, not {cells!r}.")
            widths.add(len(cells))
        yield sentence


def _in_time(sentences: Iterable[Any], progress: Progress) -> Iterator[Any]:
    """The sentences. InputError where the time is up before there is anything to keep; a listener's stop is heard
    in the first pass, which leaves a model."""
    for i, sentence in enumerate(sentences):
        if i % 512 == 511 and not progress.poll():
            raise InputError(
                f"the training data could not be laid out within the time limit ({i:,} sentences so far): raise it, or "
                "take fewer sentences."
            )
        yield sentence
