"""What a vocabulary that has been chosen can do: cut texts, put them together again, be written for other tools."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cflengine.engine.checks import InputError
from cflengine.engine.files import replaced
from cflengine.linear.parameters import parameters_of
from cflengine.linear.saving import SavedModel
from cflengine.text import TokenTable
from cflengine.text.stored import as_documents
from cflengine.text.token_table import with_sentence_borders
from cflengine.tokenizer.huggingface import UNKNOWN, byte_letters, byte_names, sentencepiece_vocab, tokenizer_json
from cflengine.tokenizer.pieces import Pieces
from cflengine.tokenizer.words import Cutting

_REMEMBERED, _SHORT = 1 << 16, 64  # words whose pieces are kept at hand, and the characters of each at most


class FittedTokenizer(SavedModel, BaseEstimator):
    """The part of :class:`~cflengine.SubwordTokenizer` that comes after ``fit``."""

    unit: str
    special_tokens: Sequence[str]
    pieces_: list[str]
    _encoded: dict[str, tuple[int, ...]]

    def encode(self, text: str) -> list[int]:
        """The ids of the pieces of a text.

        Parameters
        ----------
        text : str
            A text.

        Returns
        -------
        list[int]
            Places in pieces_, in the order of the text.

        Raises
        ------
        InputError for what is no string.
        """
        check_is_fitted(self, "pieces_")
        if not isinstance(text, str):
            raise InputError(f"encode takes one text, a string, not {type(text).__name__}.")
        ids: list[int] = []
        for word in self._cutting.words(self._cutting.normalised(text)):
            found = self._encoded.get(word)
            if found is None:
                found = self._encode_word(word)
                self._remember(word, found)
            ids.extend(found)
        return ids

    def _remember(self, word: str, found: tuple[int, ...]) -> None:
        if len(self._encoded) >= _REMEMBERED:
            self._encoded = {}
        if len(word) <= _SHORT:
            self._encoded[word] = found

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state | {"_encoded": {}} if "_encoded" in state else state

    def tokens(self, text: str) -> list[str]:
        """The pieces of a text, as files have them.

        Parameters
        ----------
        text : str
            A text.

        Returns
        -------
        list[str]
            In the order of the text.
        """
        return [self.pieces_[i] for i in self.encode(text)]

    def text_of(self, i: int) -> str:
        """An entry as a reader sees it.

        Parameters
        ----------
        i : int
            Its place in pieces_.

        Returns
        -------
        str
            Bytes that are no whole character by their numbers.

        Raises
        ------
        InputError for an id that is none.
        """
        check_is_fitted(self, "pieces_")
        self._check_id(i)
        if self._cutting.unit == "character" or i < len(self._learnt_with["special_tokens"]):
            return self.pieces_[i]
        return self._raw[i].decode("utf-8", "backslashreplace")

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some pieces, special ones left out: for those of a text its normalised form.

        Parameters
        ----------
        ids : Iterable[int]
            Places in pieces_.

        Returns
        -------
        str
            Bytes that are no characters become U+FFFD.

        Raises
        ------
        InputError for an id that is none.
        """
        check_is_fitted(self, "pieces_")
        raw: list[bytes] = []
        for i in ids:
            self._check_id(i)
            raw.append(self._raw[i])
        return b"".join(raw).decode("utf-8", "replace")

    def table(self, texts: Iterable[str], *, sentence_borders: bool = False) -> TokenTable:
        """Texts as tokens, which CompressiveFeatures takes in the place of documents: its K-grams are then of pieces.

        Parameters
        ----------
        texts : Iterable[str]
            The documents.
        sentence_borders : bool, default: False
            Whether the table has the borders of sentences, which K-grams then do not cross.

        Returns
        -------
        TokenTable
            Forms are as files have them; a character that is cut, or that normalisation made of several, belongs to
            each of its pieces, whole.
        """
        check_is_fitted(self, "pieces_")
        texts = as_documents(texts)
        ids = [np.array(self.encode(text), dtype=np.int64) for text in texts]
        doc_ptr = np.cumsum([0, *map(len, ids)], dtype=np.int64)
        every = np.concatenate([np.zeros(0, dtype=np.int64), *ids])
        begun = np.array([sum(byte & 0xC0 != 0x80 for byte in raw) for raw in self._raw])[every]
        within = np.array([raw[:1] >= b"\x80" and raw[:1] < b"\xc0" for raw in self._raw])[every]
        reached = np.concatenate([[0], np.cumsum(begun)])
        end = reached[1:] - np.repeat(reached[doc_ptr[:-1]], np.diff(doc_ptr))
        entries, first, tokens = np.unique(every, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order))
        forms = [self.pieces_[i] for i in entries[order]]
        start = (end - begun - within).astype(np.int32)
        table = TokenTable(rank[tokens], doc_ptr, start, end.astype(np.int32), forms)
        normalised = list(map(self._cutting.normalised, texts))
        if sentence_borders:  # a piece with a blank before its word begins a sentence all the same
            blank = np.array([len(raw) - len(raw.lstrip()) if raw.strip() else 0 for raw in self._raw])[every]
            visible = replace(table, start=(start + blank).astype(np.int32))
            table = replace(with_sentence_borders(visible, normalised), start=start)
        return self._in_texts(table, texts, normalised)

    def _in_texts(self, table: TokenTable, texts: Sequence[str], normalised: Sequence[str]) -> TokenTable:
        """The same with places in the texts, not in what normalisation made of them."""
        start, end = table.start.copy(), table.end.copy()
        for d, (text, other) in enumerate(zip(texts, normalised, strict=True)):
            if text != other and len(other):
                own = slice(table.doc_ptr[d], table.doc_ptr[d + 1])
                first, last = self._cutting.places(text)
                most = len(first) - 1
                start[own], end[own] = first[np.minimum(start[own], most)], last[np.minimum(end[own] - 1, most)]
        return replace(table, start=start, end=end)

    def pieces_frame(self) -> pd.DataFrame:
        """A row a piece: id, piece, as files have it; occurrences: in the words of the corpus, chosen: whether it was
        (units and special tokens are there anyway; their occurrences are not counted, and missing)."""
        check_is_fitted(self, "pieces_")
        chosen = np.arange(len(self.pieces_)) >= len(self.pieces_) - len(self._weight)
        occurrences = pd.Series(pd.NA, index=range(len(self.pieces_)), dtype="Int64")
        occurrences[chosen] = self._weight
        columns = {"id": np.arange(len(self.pieces_)), "piece": self.pieces_}
        return pd.DataFrame(columns | {"occurrences": occurrences, "chosen": chosen})

    def save_tokenizer_json(self, path: str | os.PathLike[str]) -> None:
        """Write a tokenizer.json that Hugging Face's tokenizers load and that encodes alike.

        But for special tokens that stand in a text: there they are cut out of it, while here they are text like any
        other. And where units are characters, for a text that holds the name of a byte, <0x41>, or <unk>, with a
        character in it that the texts learnt from have not: there it is that byte, or what is unknown. And where texts
        are normalised, for some hundred characters, mostly marks and letters of recent versions of Unicode, which
        tables of theirs and of Python's do not treat alike.

        Parameters
        ----------
        path : str or path
            Of the file, which is replaced as a whole.
        """
        check_is_fitted(self, "pieces_")
        special = list(self._learnt_with["special_tokens"])
        unknown = len(special) if self._cutting.unit == "character" else None
        content = tokenizer_json(self._cutting, self.pieces_, special, unknown)
        with replaced(Path(path)) as file:
            file.write(json.dumps(content, ensure_ascii=False, indent=1).encode())

    def save_sentencepiece_vocab(self, path: str | os.PathLike[str]) -> None:
        """Write the pieces as SentencePiece lists them.

        A line each: the piece, "▁" for a space, a tab and a score, one for all; line breaks, tabs and "▁" of pieces by
        their numbers, <U+000A>.

        Parameters
        ----------
        path : str or path
            Of the file, which is replaced as a whole.

        Raises
        ------
        InputError for pieces of bytes, which such a list cannot hold.
        """
        check_is_fitted(self, "pieces_")
        if self._cutting.unit != "character":
            raise InputError('a list for SentencePiece takes pieces of characters: unit="character".')
        with replaced(Path(path)) as file:
            file.write(sentencepiece_vocab(self.pieces_).encode())

    def _check_id(self, i: Any) -> None:
        if not isinstance(i, int | np.integer) or isinstance(i, bool) or not 0 <= i < len(self.pieces_):
            raise InputError(f"ids are whole numbers from 0 to {len(self.pieces_) - 1:,}, so {i!r} is none.")

    def _units(self, alphabet: np.ndarray) -> list[tuple[str, np.ndarray | None]]:
        """What is in the vocabulary anyway: as it is written, and its units, None where no text is cut into it."""
        special: list[tuple[str, np.ndarray | None]] = [(piece, None) for piece in self.special_tokens]
        if self.unit == "byte":
            return special + [(letter, np.array([byte])) for byte, letter in enumerate(byte_letters())]
        known: list[tuple[str, np.ndarray | None]] = [(chr(code), np.array([code])) for code in alphabet.tolist()]
        spare: list[tuple[str, np.ndarray | None]] = [(name, None) for name in byte_names()]
        return [*special, (UNKNOWN, None), *spare, *known]

    def _keep(self, cutting: Cutting, alphabet: np.ndarray, chosen: list[np.ndarray], weight: np.ndarray) -> None:
        """What encoding, decoding and files take: the units of the corpus, the pieces chosen, how often each occurs."""
        every = self._units(alphabet) + [(self._written(piece), piece) for piece in chosen]
        names = [name for name, _ in every]
        check_distinct(names)
        self._cutting, self._alphabet, self._chosen, self._weight = cutting, alphabet, chosen, weight
        self.pieces_, self._learnt_with = names, parameters_of(self)
        self._ids = np.array([i for i, (_, own) in enumerate(every) if own is not None], dtype=np.int64)
        self._pieces = Pieces([own for _, own in every if own is not None])
        self._bytes = [names.index(name) for name in byte_names()] if self.unit == "character" else []
        self._raw = [self._bytes_of(i) for i in range(len(names))]
        self._encoded = {}

    def _written(self, units: np.ndarray) -> str:
        if self.unit == "byte":
            return "".join(byte_letters()[byte] for byte in units.tolist())
        return "".join(map(chr, units.tolist()))

    def _bytes_of(self, i: int) -> bytes:
        """What an entry stands for; nothing, if no text is cut into it."""
        name, special = self.pieces_[i], len(self.special_tokens)
        if i < special or (self.unit == "character" and i == special):
            return b""
        if self.unit == "byte":
            return bytes(byte_letters().index(letter) for letter in name)
        return bytes([int(name[3:5], 16)]) if i <= special + 256 else name.encode()

    def _encode_word(self, word: str) -> tuple[int, ...]:
        units = self._cutting.units(word)
        found, begins = self._pieces.encode(units)
        ids: list[int] = []
        for piece, begin in zip(found.tolist(), begins.tolist(), strict=True):
            if piece >= 0:
                ids.append(int(self._ids[piece]))
            else:
                ids.extend(self._bytes[byte] for byte in chr(int(units[begin])).encode())
        return tuple(ids)


def check_distinct(names: Iterable[str]) -> None:
    """InputError for an entry that stands twice: special tokens alone may."""
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise InputError(f"the special token {twice[0]!r} is given twice, or is a unit.")
