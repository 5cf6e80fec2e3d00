"""The scikit-learn face: logistic regression with the sentence regulariser, and with the ones it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cflengine.engine.checks import InputError, check_choice
from cflengine.engine.progress import Listener
from cflengine.sentence_lasso.classifier import GroupClassifier
from cflengine.sentence_lasso.model.margin_loss import LOSSES
from cflengine.sentence_lasso.model.penalties import GROUP_WEIGHTS, PENALTIES, Penalty, TrainingData, checked_lam
from cflengine.sentence_lasso.model.result import SentenceResult
from cflengine.sentence_lasso.sentences import Features, WordFeatures
from cflengine.sentence_lasso.solvers.registry import SOLVERS
from cflengine.sentence_lasso.solvers.settings import Settings
from cflengine.text.sentences import UNITS
from cflengine.text.token_table import WORD_PATTERN


class SentenceLassoClassifier(GroupClassifier):
    """Logistic regression with one overlapping group for every training sentence (Yogatama & Smith, ICML 2014).

    Minimises Σ_d ℓ(y_d (wᵀx_d + b)) + λ_las‖w‖₁ + λ_sen Σ_{d,s} ‖w_{d,s}‖₂, equation (1) of the paper, with
    ℓ(m) = log(1 + exp(−m)) as there, or another loss. w_{d,s} has the weight of a word for each of its tokens in
    sentence s of document d; the bias b is free. Other parts of a document may be the groups (section 5.4), and λ_sen
    may go by their lengths (section 3).

    Parameters
    ----------
    lam_sen : float, default: 0.1
        λ_sen, above 0.
    l1 : float, default: 1.0
        λ_las, 0 or above; 0 for the groups alone (section 5.3), which leave few weights at exactly 0.
    solver : str, default: 'majorise'
        "majorise" (default) or "admm", the paper's Algorithm 1.
    loss : str, default: 'log'
        "log"; "squared", ½(1 − m)²; "squared hinge", ½ max(0, 1 − m)²; or "hinge", max(0, 1 − m), not by "admm".
        Without the log loss there are no probabilities. With the hinge and small λ a fit takes long: its gap says how
        far it has come.
    class_weight : object, default: None
        None, "balanced", or a mapping from classes to weights.
    tol : float, default: 0.0001
        Relative duality gap at which a fit ends.
    max_iter : int or None, default: None
        Of the solver's iterations, None for its own limit.
    time_limit : float or None, default: None
        Seconds for all classes together, or None.
    settings : Settings or None, default: None
        :class:`~cflengine.MajoriseSettings` or ADMMSettings: every other parameter of the solver, tol included. ADMM
        without settings stops by the paper's rule, not by tol.
    features : object, default: None
        None for words; or a :class:`~cflengine.CompressiveFeatures`, whose K-grams are then the features.
    groups : str, default: 'sentence'
        What the words of a group stand in: "sentence", "clause" (a part of one, up to a comma, semicolon, colon or
        dash), "paragraph" (between blank lines) or "document". Of texts only.
    group_weights : str, default: 'equal'
        "equal", λ_sen for every group; "length", λ_sen √n for a group of n tokens.
    token_pattern : str, default: '\\w+'
        Regular expression; every match is a word.
    lowercase : bool, default: True
        Whether words are lower-cased.
    language : str, default: 'en'
        ISO 639-1 code, for cutting texts into sentences.
    n_threads : int or None, default: None
        None for all cores.
    listeners : Sequence[Listener], default: ()
        Callables that get every :class:`~cflengine.IterationStats`; False from one ends the fit early.

    Attributes
    ----------
    classes_ ; coef_ : float64 (1, V), or (classes, V) for one against the rest; intercept_ : float64, as many.
    duality_gap_ : proved relative gap, the largest over the rows of coef_; result_, trace_, solver_reason_ : of that
        row. results_ : a result for each row. n_iter_ : int32, as many.
    data_ : :class:`~cflengine.sentence_lasso.model.penalties.TrainingData`. sentences_ : the training sentences, a
        :class:`~cflengine.sentence_lasso.sentences.SentenceTable` (texts only).
    sentence_norms_ : float64 (S,), or (classes, S): ‖w_{d,s}‖ of every training sentence; of ADMM ‖v_{d,s}‖, its
        copies. selected_sentences_ : bool, where that is not 0.

    Raises
    ------
    ValueError for labels of one class, wrong settings, or texts without a single word; TypeError for documents that
    are not strings; MemoryLimitError, before any work, for data that does not fit.
    """

    kind = "sentence lasso"
    _least = ("lam_sen", "l1", "language")
    _settings_kinds = tuple(solver.settings for solver in SOLVERS.values())
    _regularising = (("lam_sen", 1), ("l1", 1))

    def __init__(
        self,
        lam_sen: float = 0.1,
        l1: float = 1.0,
        *,
        solver: str = "majorise",
        loss: str = "log",
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        settings: Settings | None = None,
        features: Any = None,
        groups: str = "sentence",
        group_weights: str = "equal",
        token_pattern: str = WORD_PATTERN,
        lowercase: bool = True,
        language: str = "en",
        n_threads: int | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.lam_sen = lam_sen
        self.l1 = l1
        self.solver = solver
        self.loss = loss
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.settings = settings
        self.features = features
        self.groups = groups
        self.group_weights = group_weights
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.language = language
        self.n_threads = n_threads
        self.listeners = listeners

    def _penalty(self) -> Penalty:
        return Penalty("sentence", lam_sen=self.lam_sen, lam_las=checked_lam(self.l1, "l1", or_zero=True))

    def _check(self) -> Settings:
        check_choice(self.groups, "groups", UNITS)
        check_choice(self.group_weights, "group_weights", GROUP_WEIGHTS)
        check_choice(self.loss, "loss", LOSSES)
        if self.loss == "hinge" and self.solver == "admm":
            raise InputError('Algorithm 1 needs a loss with a derivative: take solver="majorise" for the hinge.')
        own: dict[str, Any] = {"tol": None} if self.solver == "admm" else {}  # which has a rule of its own
        settings: Settings = self._solver_settings(SOLVERS.find(self.solver), self.settings, **own)
        return settings


class PenalisedClassifier(GroupClassifier):
    """Logistic regression with the penalties that the sentence regulariser is compared with, certified as it is.

    Attributes and what is raised: as :class:`SentenceLassoClassifier` has them.

    Parameters
    ----------
    penalty : str, default: 'lasso'
        "lasso", l1‖w‖₁; "ridge", l2/2 ‖w‖²; "elastic", both; "frequency", l1‖w‖₁ + l2/2 Σ N_i w_i² with N_i the
        occurrences of feature i, which knows of no sentences.
    l1 : float, default: 1.0
        Regularisation parameters above 0; one that the penalty has not is left aside. The paper's λ_las is l1, its
        λ_rid of the ridge and the elastic net l2/2.
    l2 : float, default: 1.0
        Regularisation parameters above 0; one that the penalty has not is left aside. The paper's λ_las is l1, its
        λ_rid of the ridge and the elastic net l2/2.
    class_weight : object, default: None
        None, "balanced", or a mapping from classes to weights.
    tol : float, default: 0.0001
        Relative duality gap at which a fit ends.
    max_iter : int or None, default: None
        Of the solver's iterations, None for its own limit.
    time_limit : float or None, default: None
        Seconds for all classes together, or None.
    features : object, default: None
        None for words; or a :class:`~cflengine.CompressiveFeatures`, whose K-grams are then the features.
    token_pattern : str, default: '\\w+'
        Regular expression; every match is a word.
    lowercase : bool, default: True
        Whether words are lower-cased.
    language : str, default: 'en'
        ISO 639-1 code, for cutting texts into sentences.
    n_threads : int or None, default: None
        None for all cores.
    listeners : Sequence[Listener], default: ()
        Callables that get every :class:`~cflengine.IterationStats`; False from one ends the fit early.
    """

    kind = "penalised"
    _least = ("penalty", "l1", "l2", "language")
    _regularising = (("l1", 1), ("l2", 1))

    def __init__(
        self,
        penalty: str = "lasso",
        *,
        l1: float = 1.0,
        l2: float = 1.0,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        features: Any = None,
        token_pattern: str = WORD_PATTERN,
        lowercase: bool = True,
        language: str = "en",
        n_threads: int | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.penalty = penalty
        self.l1 = l1
        self.l2 = l2
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.features = features
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.language = language
        self.n_threads = n_threads
        self.listeners = listeners

    def _penalty(self) -> Penalty:
        if self.penalty == "sentence":
            raise InputError("the sentence regulariser is SentenceLassoClassifier's.")
        parameters = PENALTIES.get(self.penalty, ()) if isinstance(self.penalty, str) else ()
        own = {name: "l1" if name == "lam_las" else "l2" for name in parameters}
        found = {name: checked_lam(getattr(self, given), given) for name, given in own.items()}
        if self.penalty in ("ridge", "elastic"):
            found["lam_rid"] *= 0.5
        return Penalty(self.penalty, **found)


def estimator_of(
    penalty: Penalty,
    classes: np.ndarray,
    results: Sequence[SentenceResult],
    data: TrainingData,
    features: Features,
    language: str = "en",
    groups: str = "sentence",
) -> GroupClassifier:
    """The estimator that has these results: to predict, and to be saved.

    Parameters
    ----------
    penalty : Penalty
        The regulariser.
    classes : ndarray (C,)
        Names of the classes.
    results : sequence of SentenceResult
        One for each row of coefficients.
    data : TrainingData
        What they were fitted on.
    features : Features
        What finds features in texts.
    language : str
        Whose rules end sentences.
    groups : str
        What a group of words is: sentence, clause, paragraph or document.

    Returns
    -------
    SentenceLassoClassifier or PenalisedClassifier
        Fitted.
    """
    if penalty.kind == "sentence":
        model: GroupClassifier = SentenceLassoClassifier(
            **penalty.of_estimator, language=language, groups=groups,
            group_weights="length" if data.by_length else "equal", loss=data.loss,
        )  # fmt: skip
    else:
        model = PenalisedClassifier(**penalty.of_estimator, language=language)
    if isinstance(features, WordFeatures):
        model.token_pattern, model.lowercase = features.token_pattern, features.lowercase
    return model.adopt(classes, results, data, penalty, features)
