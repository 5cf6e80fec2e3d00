"""Tokenizers of others, read from their files and run by their own libraries: Hugging Face's tokenizer.json (BPE,
Unigram, WordPiece) and SentencePiece's models.

All that is asked of one is which pieces a text becomes and where its words begin; a word is what its pieces make up, so
nothing has to be known of how texts are normalised. Units are code points, or bytes where a vocabulary is of bytes. A
unit that begins a word of WordPiece, or ends one where pieces carry a suffix, is another unit than elsewhere, as its
vocabulary has it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from cflengine.engine.checks import InputError, MissingPackageError
from cflengine.text.corpus import whole_characters
from cflengine.tokenizer.huggingface import byte_letters, byte_names
from cflengine.tokenizer.words import WordTable, each_text

SUPPORTED = "a tokenizer.json of Hugging Face (BPE, Unigram or WordPiece) or a SentencePiece model"
_BATCH = 256  # texts that are encoded at once
_MOST_IDS = 10_000_000
_LARGEST = 1 << 28  # bytes of a file
_BYTE, _FIRST, _LAST = 1 << 21, 1 << 22, 1 << 23  # marks of units beside code points
_SPACE = "▁"
_INSTALL = 'pip install "cflengine[foreign]".'


@dataclass(frozen=True)
class ForeignTokenizer:
    """Another's tokenizer.

    Parameters
    ----------
    kind : str
        What it is.
    names : list[str]
        Its entries by id.
    own : list[ndarray]
        int32 each, the units of every entry; none for entries that no text is made of (special, unknown, control).
    library : Callable[[list[str]], Iterator[tuple[list[int], Sequence[int or None]]]]
        From texts to ids and the number of the word that each is of.
    of_bytes : bool, default: False
        Whether units are bytes.
    prefix : str, default: ''
        That marks pieces which do not begin a word ("##").
    suffix : str, default: ''
        That marks pieces which end a word ("</w>").
    """

    kind: str
    names: list[str] = field(repr=False)
    own: list[np.ndarray] = field(repr=False)
    library: Callable[[list[str]], Iterator[tuple[list[int], Sequence[int | None]]]] = field(repr=False)
    of_bytes: bool = False
    prefix: str = ""
    suffix: str = ""

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> ForeignTokenizer:
        """From a file. Raises InputError for one of another kind, MissingPackageError without the library."""
        path = Path(path)
        if not path.is_file():
            raise InputError(f"'{path}' is no file: give {SUPPORTED}.")
        if path.stat().st_size > _LARGEST:
            raise InputError(f"'{path}' is larger than {_LARGEST >> 20} MiB, so no tokenizer.")
        return cls.read(path.read_bytes(), path.name)

    @classmethod
    def read(cls, content: bytes, name: str) -> ForeignTokenizer:
        """From what a file holds."""
        if content.lstrip()[:1] == b"{":
            return _hugging_face(content, name)
        return _sentencepiece(content, name)

    @property
    def size(self) -> int:
        """Entries of two units or more, those that stand for the same units once."""
        return len({units.tobytes() for units in self.own if len(units) > 1})

    @cached_property
    def _splits(self) -> bool:
        """Whether words begin where a piece begins with the sign for a space: no piece has it further inside."""
        return not any(_SPACE in name.lstrip(_SPACE) for name in self.names)

    @cached_property
    def _closes(self) -> bool:
        """Whether they end where a piece ends with it, as with SentencePiece's treat_whitespace_as_suffix."""
        return not self._splits and not any(_SPACE in name.rstrip(_SPACE) for name in self.names)

    def text_of(self, units: np.ndarray) -> str:
        """Units as a reader sees them: bytes that are no whole character by their numbers."""
        if self.of_bytes:
            return bytes(units.tolist()).decode("utf-8", "backslashreplace")
        plain = (units & (_BYTE - 1)).tolist()
        text = "".join(f"<0x{u:02X}>" if m & _BYTE else chr(u) for u, m in zip(plain, units.tolist(), strict=True))
        inside = self.prefix and len(units) and not units[0] & _FIRST
        last = self.suffix and len(units) and units[-1] & _LAST
        return f"{self.prefix if inside else ''}{text}{self.suffix if last else ''}"

    def words_of(self, text: str) -> list[tuple[int, ...]]:
        """The ids of the pieces of a text, word by word."""
        return [word for one in self._encoded([whole_characters(text)[0]]) for word in one]

    def count(self, texts: Iterable[str]) -> ForeignWords:
        """The words of texts and the pieces they become; those with a piece that no text is made of are left out.
        Raises InputError for what is no string, and where the library cannot encode a text."""
        found: Counter[tuple[int, ...]] = Counter()
        texts = (whole_characters(text)[0] for text in each_text(texts))
        while batch := list(islice(texts, _BATCH)):
            for words in self._encoded(batch):
                found.update(words)
        whole = {ids: n for ids, n in found.items() if all(len(self.own[i]) for i in ids)}
        return ForeignWords.of(self, whole, found.total() - sum(whole.values()))

    def _encoded(self, texts: list[str]) -> Iterator[list[tuple[int, ...]]]:
        for ids, numbers in self.library(texts):
            words: list[list[int]] = []
            last: int | None = -1
            for i, number in zip(ids, numbers, strict=True):
                if number != last or (self._splits and self.names[i].startswith(_SPACE)):
                    words.append([])
                words[-1].append(i)
                last = -1 if self._closes and self.names[i].endswith(_SPACE) else number
            yield [tuple(word) for word in words]


@dataclass(frozen=True)
class ForeignWords:
    """The distinct words of a corpus as units; tokens, left_out: how many tokens they take, and how many words of the
    corpus are not among them; used: int64, by id, how often each entry is used."""

    table: WordTable
    tokens: int
    used: np.ndarray
    left_out: int

    @classmethod
    def of(cls, tokenizer: ForeignTokenizer, counts: dict[tuple[int, ...], int], left_out: int) -> ForeignWords:
        """Of the words' pieces and how often each word occurs."""
        used = np.zeros(len(tokenizer.names), dtype=np.int64)
        words: Counter[bytes] = Counter()
        tokens = 0
        for ids, n in counts.items():
            np.add.at(used, list(ids), n)
            words[b"".join(tokenizer.own[i].tobytes() for i in ids)] += n
            tokens += n * len(ids)
        ranked = sorted(words.items(), key=lambda item: (-item[1], item[0]))
        each = [np.frombuffer(word, dtype=np.int32) for word, _ in ranked]
        units = np.concatenate([np.zeros(0, dtype=np.int32), *each])
        table = WordTable(units, np.cumsum([0, *map(len, each)]), np.array([n for _, n in ranked], dtype=np.int64))
        return cls(table, tokens, used, left_out)


def _hugging_face(content: bytes, name: str) -> ForeignTokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingPackageError(f"a tokenizer.json needs tokenizers: {_INSTALL}") from None
    try:
        said = json.loads(content)
        model = said["model"]
        kind = model.get("type", "BPE" if "merges" in model else "?")  # old files name no type
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"'{name}' is no tokenizer: give {SUPPORTED}.") from error
    if kind not in ("BPE", "Unigram", "WordPiece"):
        raise InputError(f"'{name}' is a tokenizer of another kind ({str(kind)[:40]}): give {SUPPORTED}.")
    if model.get("dropout"):  # of a BPE: merges left out at random, which is for training alone
        model["dropout"] = None
        content = json.dumps(said).encode()
    with _told(f"'{name}' says that it is a {kind} tokenizer, but cannot be read as one"):
        tokenizer = Tokenizer.from_buffer(content)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # ids may have gaps, where entries were taken out
    largest = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
    if largest >= _MOST_IDS:
        raise InputError(f"'{name}' has an entry of the number {largest:,}: at most {_MOST_IDS:,} are possible.")
    names = [tokenizer.id_to_token(i) or "" for i in range(largest + 1)]
    of_bytes = "ByteLevel" in json.dumps([said.get("pre_tokenizer"), said.get("decoder")])

    drops = kind == "BPE" and not model.get("unk_token") and not of_bytes

    def encode(texts: list[str]) -> Iterator[tuple[list[int], Sequence[int | None]]]:
        with _told(f"'{name}' cannot encode these texts"):
            encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
        for text, one in zip(texts, encoded, strict=True):
            lost = _lost(tokenizer, text, one.offsets) if drops else ""
            if lost:
                raise InputError(
                    f"'{name}' leaves out characters that it does not know, {lost!r} in these texts, for it has no "
                    "unk_token: what it makes of them is no encoding of them."
                )
            yield one.ids, one.word_ids

    affixes = model.get("continuing_subword_prefix") or "", model.get("end_of_word_suffix") or ""
    added = {token["content"]: bool(token.get("special")) for token in said.get("added_tokens") or ()}
    apart = {entry for entry, special in added.items() if special} | {_unknown(model), ""}
    known = _BYTES if model.get("byte_fallback") else {}
    own = [
        _units("") if entry in apart
        else np.frombuffer(entry.encode(), dtype=np.uint8).astype(np.int32) if of_bytes and entry in added
        else _own(entry, of_bytes, known, *affixes)
        for entry in names
    ]  # fmt: skip
    kind = f"Hugging Face {kind} of {'bytes' if of_bytes else 'characters'}"
    return ForeignTokenizer(kind, names, own, encode, of_bytes, *affixes)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """InputError, in one sentence, for what a library raises; a panic of Rust is no Exception."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, MemoryError) or not (
            isinstance(error, Exception) or type(error).__name__ == "PanicException"
        ):
            raise
        why = " ".join(str(error).split())[:120]
        raise InputError(f"{what} ({why}).") from error


def _lost(tokenizer: Any, text: str, offsets: Sequence[tuple[int, int]]) -> str:
    """A character of the text that is in no token although the steps before the model leave it; "" for none."""
    covered = np.zeros(len(text), dtype=bool)
    for start, end in offsets:
        covered[start:end] = True
    for char in sorted({text[k] for k in np.flatnonzero(~covered).tolist()}):
        left = char if tokenizer.normalizer is None else tokenizer.normalizer.normalize_str(char)
        words = [(left, ())] if tokenizer.pre_tokenizer is None else tokenizer.pre_tokenizer.pre_tokenize_str(left)
        if any(word for word, _ in words):
            return char
    return ""


def _own(entry: str, of_bytes: bool, known: dict[str, int], prefix: str, suffix: str) -> np.ndarray:
    """The units of an entry; known: those that stand for single bytes."""
    inner = entry.removeprefix(prefix).removesuffix(suffix)
    if of_bytes and all(letter in _LETTERS for letter in inner):
        units = np.array([_LETTERS[letter] for letter in inner], dtype=np.int32)
    elif entry in known:
        units = np.array([_BYTE | known[entry]], dtype=np.int32)
    else:
        units = _units(inner)
    if len(units):
        units[0] |= _FIRST if prefix and not entry.startswith(prefix) else 0
        units[-1] |= _LAST if suffix and entry.endswith(suffix) else 0
    return units


def _sentencepiece(content: bytes, name: str) -> ForeignTokenizer:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        raise MissingPackageError(f"a SentencePiece model needs sentencepiece: {_INSTALL}") from None
    try:
        model = SentencePieceProcessor()
        model.LoadFromSerializedProto(content)
    except Exception as error:  # RuntimeError or TypeError, by version
        raise InputError(f"'{name}' is no tokenizer: give {SUPPORTED}.") from error
    ids = range(model.get_piece_size())
    names = [model.id_to_piece(i) for i in ids]
    own = []
    for i in ids:
        if model.is_unknown(i) or model.is_control(i) or model.is_unused(i):
            own.append(_units(""))
        elif model.is_byte(i):
            own.append(np.array([_BYTE | _BYTES[names[i]]], dtype=np.int32))
        else:
            own.append(_units(names[i]))

    def encode(texts: list[str]) -> Iterator[tuple[list[int], Sequence[int | None]]]:
        with _told(f"'{name}' cannot encode these texts"):
            encoded = model.encode(texts, out_type=int)
        for found in encoded:
            yield found, [0] * len(found)

    return ForeignTokenizer("SentencePiece model", names, own, encode)


_BYTES = {name: byte for byte, name in enumerate(byte_names())}
_LETTERS = {letter: byte for byte, letter in enumerate(byte_letters())}


def _units(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.int32).copy()


def _unknown(model: dict[str, Any]) -> str:
    """The entry for what is unknown."""
    if model["type"] == "Unigram":
        number = model.get("unk_id")
        return "" if number is None else model["vocab"][number][0]
    return model.get("unk_token") or ""
