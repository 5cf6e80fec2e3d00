"""tokenizer.json: a vocabulary as Hugging Face's tokenizers read it.

Its Unigram model takes the encoding of the highest score; with one score for all pieces that is one of the fewest
pieces, and of these the one that trie_kernels.py takes. Entries that no text is cut into, special ones and the names
of bytes and of what is unknown, have a score below that of their letters one by one, so that a text which holds such a
name is cut into pieces there, too. Bytes are written in GPT-2's alphabet, a letter for each.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from cflengine.tokenizer.words import Cutting

_NORMALISERS = {"nfc": {"type": "NFC"}, "lowercase": {"type": "Lowercase"}}
UNKNOWN = "<unk>"
_LISTED = {ord(" "): "▁"} | {ord(each): f"<U+{ord(each):04X}>" for each in "▁\t\n\r"}


def byte_names() -> list[str]:
    """What bytes are called where units are characters: of these, all others are made."""
    return [f"<0x{byte:02X}>" for byte in range(256)]


@cache
def byte_letters() -> tuple[str, ...]:
    """The letter of each byte: itself where it can be seen, else one from U+0100 on."""
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    letters, more = [], 256
    for byte in range(256):
        letters.append(chr(byte if byte in seen else more))
        more += byte not in seen
    return tuple(letters)


def tokenizer_json(cutting: Cutting, pieces: list[str], special: list[str], unknown: int | None) -> dict[str, Any]:
    """The file's content. pieces: by id, as they are written, special ones included; unknown: the id of the piece for
    unknown characters, None where there are none."""
    steps = [_NORMALISERS[step] for step in cutting.normalisation]
    before = []
    if cutting.expression is not None:
        split = {"type": "Split", "pattern": {"Regex": cutting.expression}, "behavior": "Isolated", "invert": False}
        before.append(split)
    decoder: dict[str, Any] | None = {"type": "Fuse"}
    if cutting.unit == "byte":
        plain = {"add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        before.append({"type": "ByteLevel", **plain})
        decoder = {"type": "ByteLevel", **plain}
    elif unknown is not None:
        decoder = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}
    apart = len(special) + (0 if unknown is None else 1 + len(byte_names()))
    lowest = -10.0 - 4.0 * max(map(len, pieces[:apart]), default=0)  # a character is four bytes at most
    kept = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": pieces.index(piece), "content": piece, **kept} for piece in special],
        "normalizer": {"type": "Sequence", "normalizers": steps} if steps else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": before} if before else None,
        "post_processor": None,
        "decoder": decoder,
        "model": {
            "type": "Unigram",
            "unk_id": unknown,
            "vocab": [[piece, lowest if i < apart else -1.0] for i, piece in enumerate(pieces)],
            "byte_fallback": cutting.unit == "character",
        },
    }


def sentencepiece_vocab(pieces: list[str]) -> str:
    """The pieces as SentencePiece lists them, a line each: "▁" for a space, and a score, one for all; what the list
    could not tell from others by its number, <U+000A>."""
    return "".join(f"{piece.translate(_LISTED)}\t-1\n" for piece in pieces)
