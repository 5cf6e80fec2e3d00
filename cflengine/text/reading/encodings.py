"""Bytes to characters, and saying so whenever that was not plain UTF-8.

The rule: a byte order mark decides; without one the text is read as strict UTF-8; only where that fails is an
encoding detected, from the lines that hold bytes beyond ASCII. Detection is bounded (128 KB of such lines),
is always reported, and characters that even the detected encoding cannot explain become U+FFFD and are
counted.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from charset_normalizer import from_bytes

from cflengine.text.corpus import CorpusError

EVIDENCE_BYTES = 128 << 10

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Left to itself, the detector answers UTF-16 or rare code pages for short western texts.
_PLAUSIBLE = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "iso8859_2", "koi8_r",
    "cp932", "euc_jp", "gb18030", "big5", "cp949", "mac_roman", "cp850",
]  # fmt: skip
_KANA = re.compile("[\u3041-\u30ff]")
_ISO_2022_JP, _HZ = re.compile(rb"\x1b\$[@B]"), re.compile(rb"~\{(?:[!-~]{2})+~\}")
# Encodings that the same bytes fit, and the letters by which they are told apart: one that makes usual letters of the
# bytes is likelier than one that makes rare ones of them.
_WESTERN = ("windows-1252", "mac_roman", "cp850", "windows-1254")
_OTHERS = ("windows-1251", "koi8_r", "cp866", "iso8859_5", "mac_cyrillic", "windows-1253")
_USUAL = {
    "windows-1254": "ıişğüöçİŞĞÜÖÇâîû",
    "windows-1253": "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώΑΒΓΔΕΗΘΙΚΛΜΝΟΠΡΣΤΥΦΧΩΆΈ«»",
    "western": "éèêëàâäáãåçîïíìôöóòõøûüùúñßæœÉÈÊÀÁÂÄÅÇÍÎÓÔÖØÚÜÑ’‘“”…–—«»°§€£©®·¡¿ªº´",
    "cyrillic": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфёОНПВСАМИТКД—–«»№",
}
_SURE, _CLEAR = 0.9, 0.05  # shares of usual letters: at least, and more than the next encoding's
# The bytes that UTF-8 cannot explain, as the error handler "surrogateescape" leaves them.
_ESCAPED = re.compile("[\udc80-\udcff]")


@dataclass
class Decoding:
    """How the bytes of a source become characters.

    encoding: a Python codec; note: what the user should know about it ('' for plain UTF-8); lenient: whether
    undecodable bytes are replaced by U+FFFD and counted in ``n_replaced``, or raise UnicodeDecodeError.
    """

    encoding: str = "utf-8"
    note: str = ""
    lenient: bool = False
    n_replaced: int = 0

    @property
    def one_byte_units(self) -> bool:
        """Whether a zero byte can only be a NUL character."""
        return not self.encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32", "utf16", "utf32"))

    def lines(self, stream: io.BufferedReader, newline: str) -> Iterator[str]:
        """The lines of a stream, ends kept; ``newline`` as for :func:`open`."""
        errors = "surrogateescape" if self.lenient else "strict"
        lines = io.TextIOWrapper(stream, self.encoding, errors=errors, newline=newline)
        return map(self._repaired, lines) if self.lenient else iter(lines)

    def text(self, data: bytes) -> str:
        """All of ``data`` as one string."""
        text = data.decode(self.encoding, errors="surrogateescape" if self.lenient else "strict")
        return self._repaired(text) if self.lenient else text

    def forgiving(self) -> Decoding:
        """The same encoding, lenient."""
        return Decoding(self.encoding, f"{self.note}, with damaged places", lenient=True)

    def _repaired(self, text: str) -> str:
        if text.isascii():
            return text
        text, n_replaced = _ESCAPED.subn("\ufffd", text)
        self.n_replaced += n_replaced
        return text

    def warnings(self) -> list[str]:
        """One sentence if bytes had to be replaced."""
        if not self.n_replaced:
            return []
        return [f"{self.n_replaced} bytes are not valid {self.encoding} and were replaced by U+FFFD."]


def initial_decoding(head: bytes, encoding: str | None = None) -> Decoding:
    """The decoding to try first: the stated one, that of a byte order mark, or strict UTF-8.

    Parameters
    ----------
    head : bytes
        The first of the file.
    encoding : str, optional
        The stated one.

    Returns
    -------
    Decoding
        What to read it as.

    Raises
    ------
    CorpusError
        If ``encoding`` is not the name of a text encoding.
    """
    if encoding is None:
        return marked_decoding(head) or _escaped_decoding(head) or Decoding()
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)
        if codecs.lookup(encoding).name == "utf-8" and head.startswith(codecs.BOM_UTF8):
            encoding = "utf-8-sig"
        b"a".decode(encoding, "surrogateescape")
    except UnicodeDecodeError:
        pass  # one byte is no character of it
    except (LookupError, UnicodeError):  # idna and the like, which know no damaged places
        raise CorpusError(f"'{encoding}' is not an encoding; use for example utf-8, windows-1252 or utf-16.") from None
    return Decoding(encoding, f"read as {encoding}, as stated", lenient=True)


def _escaped_decoding(head: bytes) -> Decoding | None:
    """ISO-2022-JP and HZ write Japanese and Chinese by seven bits, so that their bytes are valid UTF-8, too."""
    if not head.isascii():
        return None
    for encoding, sign in (("iso2022_jp", _ISO_2022_JP), ("hz", _HZ)):
        if not sign.search(head):
            continue
        text = head[: head.rfind(b"\n") + 1 or None].decode(encoding, errors="replace")
        if sum("\u3000" <= char <= "\u9fff" for char in text) > 2 * text.count("\ufffd"):
            return Decoding(encoding, f"detected as {encoding} by its escapes", lenient=True)
    return None


def marked_decoding(head: bytes) -> Decoding | None:
    """The strict decoding that a byte order mark at the start of ``head`` asks for, if there is one."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return Decoding(encoding, f"byte order mark of {encoding.removesuffix('-sig').upper()}")
    return None


def detect(chunks: Iterable[bytes]) -> Decoding:
    """A lenient decoding for bytes that are not UTF-8 throughout.

    Text in which valid multi-byte UTF-8 outweighs the invalid bytes is damaged UTF-8, not another encoding: in a legacy
    encoding such sequences are rare accidents. Otherwise charset-normalizer judges; windows-1252 is preferred where it
    does about as well as the best, since its neighbours differ in a few letters that short samples lack.

    Parameters
    ----------
    chunks : iterable of bytes
        Of the file, in order.

    Returns
    -------
    Decoding
        What to read it as, and what to say of that.
    """
    evidence = _evidence(chunks)
    as_utf8 = evidence.decode("utf-8", errors="surrogateescape")
    n_invalid = len(_ESCAPED.findall(as_utf8))
    n_valid = sum(not char.isascii() for char in as_utf8) - n_invalid
    if n_valid > n_invalid:
        return Decoding("utf-8", "UTF-8 with damaged places", lenient=True)
    by_letters = _by_letters(evidence)
    if by_letters is not None:
        return by_letters
    for encoding in ("cp932", "euc_jp"):
        if _is_japanese(evidence, encoding):
            return _detected(encoding)
    matches = list(from_bytes(evidence, steps=10, chunk_size=1024, cp_isolation=_PLAUSIBLE))
    if not matches:
        return Decoding("windows-1252", "no encoding fits well; read as windows-1252, check the accents", lenient=True)
    best = matches[0]
    for match in matches:
        close = match.chaos <= best.chaos + 0.1 and match.coherence >= best.coherence - 0.08
        if close and "cp1252" in match.could_be_from_charset:
            return _detected("windows-1252")
    return _detected(re.sub(r"^cp(125\d)$", r"windows-\1", best.encoding))


def _by_letters(evidence: bytes) -> Decoding | None:
    """One of the western, Cyrillic or Greek encodings, if the letters it makes are usual ones; the doubt is said where
    another one's are about as usual. None where none does well."""
    beyond = sum(byte > 127 for byte in evidence)
    letters = beyond + sum(chr(byte).isalpha() for byte in evidence if byte < 128)
    family, candidates = ("cyrillic", _OTHERS) if 2 * beyond > letters else ("western", _WESTERN)
    shares = []
    for encoding in candidates:
        text = evidence.decode(encoding, errors="replace")
        usual = _USUAL.get(encoding, _USUAL[family])
        found = [
            # capitals stand at the beginning of words
            char in usual and not (char.isupper() and before.islower())
            for before, char in pairwise(" " + text)
            if not char.isascii()
        ]
        shares.append((sum(found) / max(len(found), 1), encoding))
    order = sorted(shares, key=lambda pair: -pair[0])  # stable: the first of equals
    (best, encoding), (next_best, other) = order[:2]
    if best < _SURE:
        return None
    sure = _detected(encoding)
    same = evidence.decode(encoding, errors="replace") == evidence.decode(other, errors="replace")
    if not same and next_best > best - _CLEAR:
        sure.note += f"; {other} fits nearly as well"
    return sure


def _is_japanese(evidence: bytes, encoding: str) -> bool:
    """Whether a quarter of what is not ASCII is kana; the detector takes Japanese for Korean."""
    text = evidence.decode(encoding, errors="ignore")
    n_beyond_ascii = sum(not char.isascii() for char in text)
    return n_beyond_ascii > 0 and len(_KANA.findall(text)) > n_beyond_ascii // 4


def _detected(encoding: str) -> Decoding:
    return Decoding(encoding, f"not UTF-8; detected as {encoding} from a sample, check the accents", lenient=True)


def _evidence(chunks: Iterable[bytes]) -> bytes:
    """Lines that hold bytes beyond ASCII, up to EVIDENCE_BYTES; the rest says nothing about the encoding."""
    lines: list[bytes] = []
    left = EVIDENCE_BYTES
    for chunk in chunks:
        for line in chunk.splitlines():
            if not line.isascii():
                lines.append(line[:left])
                left -= len(lines[-1])
            if left <= 0:
                return b"\n".join(lines)
    return b"\n".join(lines)
