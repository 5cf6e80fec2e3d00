"""The work behind the page Tokenizer: a vocabulary of every size, BPE of the same sizes, the user's own tokenizer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from cflengine import IterationStats
from cflengine.engine import InputError, TerminationReason
from cflengine.tokenizer import (
    Candidates,
    Cutting,
    ForeignTokenizer,
    SubwordTokenizer,
    TokenizerReport,
    VocabularySettings,
    WordTable,
    tokenizer_report,
    warm_up,
)
from pages.parts.lab.vocabulary import Brought
from pages.parts.shared.jobs import Job

SIZES = (500, 1000, 2000, 4000, 8000, 16000, 32000)
SECONDS = 20.0  # for a size
LONGEST = 16
TOL = 1e-3
CAN_COMPARE = find_spec("tokenizers") is not None
MOST_FOR_BPE = 50_000_000  # characters of a corpus for which BPE is trained beside


@dataclass(frozen=True)
class SubwordChoice:
    """What the controls say; theirs: the user's own tokenizer, by what tells it from another."""

    unit: str = "byte"
    pattern: str = "gpt2"
    lowercase: bool = False
    largest: int = 4000
    theirs: str = ""

    @property
    def cutting(self) -> Cutting:
        return Cutting(self.unit, self.pattern, ("lowercase",) if self.lowercase else ())


@dataclass
class SubwordRun:
    """scale: sizes that are tried, as far as the corpus allows; models: by size; bpe: entries -> a tokenizer trained by
    BPE on the same corpus and its tokens; now: size, tokens of the best found and those proved to be needed, of the
    solve under way; most: entries that the corpus allows, with every piece that occurs in its words; stopped: whether
    the user has ended it before all sizes were there; refused: why the user's own could not be held against the
    best."""

    choice: SubwordChoice
    scale: tuple[int, ...] = SIZES
    sizes: list[int] = field(default_factory=list)
    models: dict[int, SubwordTokenizer] = field(default_factory=dict)
    bpe: dict[int, tuple[ForeignTokenizer, int]] = field(default_factory=dict)
    theirs: ForeignTokenizer | None = None
    report: TokenizerReport | None = None
    refused: str = ""
    now: tuple[int, float, float] | None = None
    n_running: int = 0
    most: int = 0
    stopped: bool = False
    stage: str = ""

    def take_over(self, before: SubwordRun) -> None:
        """What a run on the same corpus has found for the same words, however it ended; a vocabulary whose solve was
        stopped is solved for anew."""
        if replace(before.choice, theirs="", largest=0) != replace(self.choice, theirs="", largest=0):
            return
        for size, model in list(before.models.items()):
            if size <= self.choice.largest and model.result_.reason is not TerminationReason.INTERRUPTED:
                self.models[size] = model
        self.bpe = {size: before.bpe[size] for size in self.models if size in before.bpe}

    def run(self, texts: Sequence[str], brought: Brought | None, job: Job) -> None:
        """All sizes that are not there yet, then the user's own. Raises InputError, as in a tokenizer that cannot be
        read."""
        self.theirs = None if brought is None else ForeignTokenizer.read(brought.data, brought.name)
        self.stage = "Loading the engine, which is compiled the first time …"
        warm_up()
        self.stage = "Counting words …"
        counts = self.choice.cutting.count(_while(texts, job))
        if not job.poll():
            return
        self.sizes = self._ladder(counts)
        self.models = {size: self.models[size] for size in self.sizes if size in self.models}
        self.n_running = counts.total()
        compare = CAN_COMPARE and sum(map(len, texts)) <= MOST_FOR_BPE
        for size in self.sizes:
            if not job.poll():
                self.stopped = True
                return
            if size not in self.models:
                self.stage = f"Choosing {size:,} entries …"
                self.models[size] = self._chosen(size, counts, job)
            if compare and size not in self.bpe and job.poll():
                self.bpe[size] = self._bpe(size, texts)
        self.now, self.stopped = None, not job.poll()
        if self.theirs is not None and job.poll():
            self.stage = f"Holding {brought.name if brought else ''} against the best …"
            settings = VocabularySettings(tol=TOL, time_limit=2 * SECONDS)
            try:
                self.report = tokenizer_report(self.theirs, texts, settings, listeners=(lambda stats: job.step(),))
            except InputError as error:  # as where it knows no word of the corpus: the vocabularies stay
                self.refused = str(error)

    def _ladder(self, counts: Counter[str]) -> list[int]:
        """Sizes that this corpus allows."""
        cutting = self.choice.cutting
        table = WordTable.of(counts, cutting)
        if not table.n_words:
            raise InputError("There is no word in this corpus.")
        units = 256 if cutting.unit == "byte" else 257 + len(table.alphabet())
        self.most = most = units + int(np.count_nonzero(Candidates.of(table, LONGEST).many))
        sizes = [size for size in self.scale if units < size <= min(self.choice.largest, most)]
        return sizes or [units + (most - units + 1) // 2]

    def _chosen(self, size: int, counts: Counter[str], job: Job) -> SubwordTokenizer:
        def listen(stats: IterationStats) -> bool:
            self.now = size, stats.best_objective, stats.lower_bound
            return job.step()

        cutting = self.choice.cutting
        model = SubwordTokenizer(
            size, unit=cutting.unit, pattern=cutting.pattern, normalisation=cutting.normalisation, longest=LONGEST,
            tol=TOL, time_limit=SECONDS, listeners=(listen,),
        ).fit(counts)  # fmt: skip
        return model.set_params(listeners=())  # the model outlives the job

    def _bpe(self, size: int, texts: Sequence[str]) -> tuple[ForeignTokenizer, int]:
        """Hugging Face's trainer on the same words; only where its package is installed."""
        from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

        cutting = self.choice.cutting
        # where units are characters, what is unknown has an entry, as in our vocabularies
        unknown = [] if cutting.unit == "byte" else ["<unk>"]
        made = Tokenizer(models.BPE(unk_token=unknown[0] if unknown else None))
        if cutting.normalisation:
            made.normalizer = normalizers.Lowercase()
        before: list[Any] = [pre_tokenizers.Split(Regex(str(cutting.expression)), "isolated")]
        alphabet: list[str] = []
        if cutting.unit == "byte":
            before.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
            alphabet = pre_tokenizers.ByteLevel.alphabet()
            made.decoder = decoders.ByteLevel()
        made.pre_tokenizer = pre_tokenizers.Sequence(before)
        # the 256 entries for bytes are in our vocabularies of characters alone
        entries = size if cutting.unit == "byte" else size - 256
        made.train_from_iterator(
            texts,
            trainers.BpeTrainer(  # of pieces as long as those that the bound is about
                vocab_size=entries, initial_alphabet=alphabet, show_progress=False, max_token_length=LONGEST,
                special_tokens=unknown,
            ),
        )  # fmt: skip
        found = ForeignTokenizer.read(made.to_str().encode(), "BPE")
        return found, found.count(texts).tokens

    def table(self) -> pd.DataFrame:
        """A row a size: entries, tokens and tokens a word, proved at least, gap, those of BPE."""
        rows = []
        for size, model in self.models.items():
            result, other = model.result_, self.bpe.get(size)
            rows.append(
                {
                    "entries": size,
                    "tokens": int(result.objective),
                    "per_word": result.tokens_per_word,
                    "at_least": result.least_tokens_per_word,
                    "gap": result.gap,
                    "bpe": float("nan") if other is None else other[1] / self.n_running,
                }
            )
        return pd.DataFrame(rows)

    def changes(self, size: int) -> tuple[int | None, list[str], list[str]]:
        """The size before, the pieces that come between the two, and those that go, most frequent first."""
        before = max((other for other in self.models if other < size), default=None)
        if before is None:
            return None, [], []
        new, old = (_pieces(self.models[s]) for s in (size, before))
        known, kept = set(old), set(new)
        return before, [p for p in new if p not in known], [p for p in old if p not in kept]


def _pieces(model: SubwordTokenizer) -> list[str]:
    """Those that were chosen, as texts."""
    return [model.text_of(i) for i in range(len(model.pieces_) - model.result_.size, len(model.pieces_))]


def _while(texts: Sequence[str], job: Job) -> Iterator[str]:
    """Texts, until the job is stopped."""
    for text in texts:
        if not job.poll():
            return
        yield text


def cut(model: SubwordTokenizer | ForeignTokenizer, text: str) -> list[str]:
    """The pieces of a text, as they are read."""
    if isinstance(model, SubwordTokenizer):
        return [model.text_of(i) for i in model.encode(text)]
    ids = [i for word in model.words_of(text) for i in word]
    return [model.text_of(model.own[i]) or model.names[i] for i in ids]
