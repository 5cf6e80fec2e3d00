r"""Patterns that every engine reads alike.

Words are cut here by the package ``regex``, and from a tokenizer.json by Oniguruma, in Hugging Face's tokenizers. The
two read the same expression differently: ``\w`` (U+200D joins emoji in one, ² is a letter in the other), ``\b``, ``^``
and ``$`` (of the text or of a line), ``\h``, flags, case. So an expression is read here, as Python reads it, and
written in what both have in common: characters, sets of them, groups, alternatives, quantifiers, looks ahead and
behind. What cannot be written so is refused, with the reason. What is left are the engines' tables of Unicode, which
differ in characters that one version or another has moved or added (U+0295, of all that Python 3.11 knows).

``\w`` stands for letters, marks, numbers, connectors such as "_", and the joiners U+200C and U+200D; ``(?i)`` for the
lower, upper and title case of each character.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import regex

from cflengine.engine.checks import InputError

WORD = r"\p{L}\p{M}\p{N}\p{Pc}" + "\u200c\u200d"  # within brackets
_IS, _NOT = f"[{WORD}]", f"[^{WORD}]"
_END = r"(?![\s\S])"
_ANCHORS = {
    "A": r"\A",
    "Z": _END,
    "z": _END,
    "b": f"(?:(?<={_IS})(?!{_IS})|(?<!{_IS})(?={_IS}))",
    "B": f"(?:(?<={_IS})(?={_IS})|(?<!{_IS})(?!{_IS}))",
}
_LINES = {"^": r"(?<![^\n])", "$": r"(?![^\n])"}
_TEXTS = {"^": r"\A", "$": r"(?=\n?" + _END + ")"}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a"}
_WRITTEN = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_POSIX = {
    "alpha": r"\p{Alphabetic}",
    "digit": r"\p{Nd}",
    "space": r"\s",
    "word": WORD,
}
_BINARY = {
    one.replace("_", "").lower(): one
    for one in ("Alphabetic", "Emoji", "Emoji_Presentation", "Ideographic", "White_Space")
}
_CASED = ("lu", "ll", "lt", "uppercaseletter", "lowercaseletter", "titlecaseletter")
_CATEGORIES = "l lu ll lt lm lo m mn mc me n nd nl no p pc pd ps pe pi pf po s sm sc sk so z zs zl zp c cc cf co"
_LONG = {
    "letter": "l", "uppercaseletter": "lu", "lowercaseletter": "ll", "titlecaseletter": "lt", "modifierletter": "lm",
    "otherletter": "lo", "mark": "m", "nonspacingmark": "mn", "spacingmark": "mc", "enclosingmark": "me",
    "number": "n", "decimalnumber": "nd", "letternumber": "nl", "othernumber": "no", "punctuation": "p",
    "punct": "p", "connectorpunctuation": "pc", "dashpunctuation": "pd", "openpunctuation": "ps",
    "closepunctuation": "pe", "initialpunctuation": "pi", "finalpunctuation": "pf", "otherpunctuation": "po",
    "symbol": "s", "mathsymbol": "sm", "currencysymbol": "sc", "modifiersymbol": "sk", "othersymbol": "so",
    "separator": "z", "spaceseparator": "zs", "lineseparator": "zl", "paragraphseparator": "zp", "other": "c",
    "control": "cc", "format": "cf", "privateuse": "co", "digit": "nd",
}  # fmt: skip
_NAMES = {one: one.capitalize() for one in _CATEGORIES.split()} | {one: _LONG[one].capitalize() for one in _LONG}
_LONGEST = 10_000  # characters of a pattern; and repeats
_DEEPEST = 40  # groups within groups


@dataclass(frozen=True)
class _Part:
    """A piece of an expression: as it is written, and how many characters it matches; whether it looks around, and
    whether it is one look and nothing else."""

    text: str
    least: int
    most: float
    looks: bool = False
    bare: bool = False


_NOTHING = _Part("", 0, 0)


def portable(pattern: str) -> str:
    """The pattern in the words that all engines share. Raises InputError for one that has no such form, one that can
    match nothing, and one that is no regular expression."""
    if len(pattern) > _LONGEST:
        raise InputError(f"the pattern has {len(pattern):,} characters; it may have {_LONGEST:,}.")
    try:
        regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise InputError(f"the pattern {_shown(pattern)} is no regular expression: {error}.") from error
    part = _Reader(pattern).whole()
    if part.least == 0:
        raise InputError(f"the pattern {_shown(pattern)} can match the empty string, where tokenizers differ.")
    return part.text


class _Reader:
    """Reads an expression from left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at, self.depth, self.flags = pattern, 0, 0, frozenset[str]()

    def refuse(self, what: str) -> NoReturn:
        raise InputError(f"the pattern {_shown(self.pattern)} has {what}, which other tokenizers read in another way.")

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        found = self.peek(text)
        self.at += len(text) * found
        return found

    def match(self, expression: str) -> regex.Match[str] | None:
        found = regex.compile(expression).match(self.pattern, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def whole(self) -> _Part:
        while (flags := self.match(r"\(\?([a-zA-Z0-9]+)\)")) is not None:
            self.set_flags(flags[1], "")
        part = self.alternatives()
        if self.at < len(self.pattern):
            self.refuse("a parenthesis without its other half")
        return part

    def set_flags(self, on: str, off: str) -> None:
        if set(on + off) - set("ims"):
            self.refuse(f"the flags {on}{'-' + off if off else ''}")
        self.flags = (self.flags | set(on)) - set(off)

    def alternatives(self) -> _Part:
        parts = [self.sequence()]
        while self.take("|"):
            parts.append(self.sequence())
        looks = any(part.looks for part in parts)
        least, most = min(part.least for part in parts), max(part.most for part in parts)
        # Oniguruma repeats no group of which an alternative is one look; of two, which look at the same, it does
        texts = [part.text * (2 if len(parts) > 1 and part.bare else 1) for part in parts]
        return _Part("|".join(texts), least, most, looks, len(parts) == 1 and parts[0].bare)

    def sequence(self) -> _Part:
        found = _NOTHING
        while self.at < len(self.pattern) and not (self.peek("|") or self.peek(")")):
            part = self.quantified(self.atom())
            looks, bare = found.looks or part.looks, not found.text and part.bare
            found = _Part(found.text + part.text, found.least + part.least, found.most + part.most, looks, bare)
        return found

    def quantified(self, part: _Part) -> _Part:
        mark = self.match(r"([*+?]|\{(\d*)(,?)(\d*)\})([+?]?)")
        if mark is None or part is _NOTHING:  # a comment
            return part if mark is None else self.refuse("a quantifier of nothing")
        braced = mark[1][0] == "{"
        if braced and not (mark[2] or mark[4]):
            self.refuse("{}, without numbers" if not mark[3] else "{,}, without numbers")
        least = int(mark[2] or 0) if braced else int(mark[1] == "+")
        most = {"*": float("inf"), "+": float("inf"), "?": 1.0}.get(mark[1], float("inf"))
        if braced and (mark[4] or not mark[3]):
            most = float(mark[4] if mark[3] else mark[2])
        if max(least, most if most < float("inf") else 0) > _LONGEST:
            self.refuse(f"more than {_LONGEST:,} repeats")
        if part.most == 0 or (part.least == 0 and most > 1):
            self.refuse("a repeated part that can match nothing")
        times = mark[1]
        if braced:
            times = f"{{{least}}}" if least == most else f"{{{least},{'' if most == float('inf') else int(most)}}}"
        text, kind = part.text + times, mark[5] if not braced or least < most else ""
        text = f"(?>{text})" if kind == "+" else text + kind
        if self.match(r"[*+?]|\{\d") is not None:
            self.refuse("a quantifier of a quantifier")
        return _Part(text, part.least * least, part.most * most, part.looks)

    def atom(self) -> _Part:
        char = self.pattern[self.at]
        self.at += 1
        if char == "(":
            return self.group()
        if char == "[":
            return self.brackets()
        if char == "\\":
            return self.escape()
        if char == ".":
            return _Part(r"[\s\S]" if "s" in self.flags else r"[^\n]", 1, 1)
        if char in "^$":
            return _Part((_LINES if "m" in self.flags else _TEXTS)[char], 0, 0, looks=True, bare=True)
        if char == "{":
            self.refuse(r"a brace that is no quantifier (write \{)")
        return self.literal(char)

    def literal(self, char: str) -> _Part:
        cases = self.cases(char)
        return _Part(_plain(char, "") if len(cases) == 1 else f"[{''.join(_plain(one, '[') for one in cases)}]", 1, 1)

    def cases(self, char: str) -> list[str]:
        """The character, and where case does not count its other cases."""
        if "\ud800" <= char <= "\udfff":
            self.refuse("half a character (a lone surrogate)")
        if "i" not in self.flags:
            return [char]
        first = {char, char.lower(), char.upper(), char.title()}
        every = first | {other for one in first for other in (one.lower(), one.upper(), one.title())}
        return [char, *sorted(one for one in every if len(one) == 1 and one != char)]

    def group(self) -> _Part:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise InputError(f"the pattern has more than {_DEEPEST} groups within one another.")
        before, opening = self.flags, "(?:"
        if self.match(r"\?#[^)]*") is not None:
            self.take(")")
            self.depth -= 1
            return _NOTHING
        if (flags := self.match(r"\?([a-zA-Z0-9]*)(?:-([a-z]+))?:")) is not None:
            self.set_flags(flags[1], flags[2] or "")
        elif (look := self.match(r"\?(?:[=!>]|<[=!])")) is not None:
            opening = "(" + look[0]
        elif self.match(r"\?P?<\w+>") is None and self.peek("?"):
            self.refuse(f"a group that begins with ({self.pattern[self.at : self.at + 2]}")
        inside = self.alternatives()
        self.take(")")
        self.flags, self.depth = before, self.depth - 1
        if opening.startswith("(?<") and (inside.looks or inside.least != inside.most):
            self.refuse("a look behind at parts of several lengths, or within which there is another look")
        if opening in ("(?:", "(?>"):
            return _Part(f"{opening}{inside.text})", inside.least, inside.most, inside.looks, inside.bare)
        return _Part(f"{opening}{inside.text})", 0, 0, looks=True, bare=True)

    def escape(self) -> _Part:
        char = self.pattern[self.at]
        if char in "sSdDpPwW":
            text = self.set_by_name()
            return _Part({WORD: _IS, "": _NOT}.get(text, text), 1, 1)
        if char in _ANCHORS:
            self.at += 1
            return _Part(_ANCHORS[char], 0, 0, looks=True, bare=char in "AZz")
        return self.literal(self.escaped())

    def escaped(self) -> str:
        """The character that an escape stands for."""
        found = self.match(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})")
        if found is not None:
            return chr(int(found[1] or found[2] or found[3], 16))
        char = self.pattern[self.at]
        self.at += 1
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char.isalnum():
            self.refuse(f"\\{char}")
        return char

    def set_by_name(self) -> str:
        r"""What \s, \d, \p{..} are, within brackets or without; WORD for \w; nothing for \W."""
        char = self.pattern[self.at]
        self.at += 1
        if char in "sSdD":
            return {"s": r"\s", "S": r"\S", "d": r"\p{Nd}", "D": r"\P{Nd}"}[char]
        if char in "wW":
            return WORD if char == "w" else ""
        found = self.match(r"\{(\^?)([^{}]*)\}|()([A-Za-z])")
        if found is None:
            self.refuse(f"\\{char} without a name")
        name = self.named(found[2] or found[4])
        return rf"\{'p' if (char == 'P') == bool(found[1]) else 'P'}{{{name}}}"

    def named(self, name: str) -> str:
        """A property's name, as both engines have it."""
        kind, _, value = regex.sub(r"[\s_-]", "", name).replace(":", "=").lower().rpartition("=")
        if "i" in self.flags and value in _CASED:
            self.refuse(rf"\p{{{name}}} where case does not count")
        if kind in ("", "gc", "generalcategory", "category") and value in _NAMES:
            return _NAMES[value]
        if not kind and value in _BINARY:
            return _BINARY[value]
        if kind not in ("", "sc", "script") or not _is_script(value):
            self.refuse(rf"\p{{{name}}}")
        return str(value.capitalize())

    def brackets(self) -> _Part:
        """A set of characters. One with \\W has no form of its own: an alternative or a look ahead takes its place."""
        negated, others = self.take("^"), False
        found = [_plain("]", "[")] if self.take("]") else []
        while not self.take("]"):
            if any(self.peek(mark) for mark in ("--", "&&", "||", "~~")):
                self.refuse(f"{self.pattern[self.at : self.at + 2]} within brackets")
            if (name := self.match(r"\[:(\w+):\]")) is not None and name[1] in _POSIX:
                found.append(_POSIX[name[1]])
            elif name is not None or self.peek("["):
                self.refuse(r"a bracket within brackets (write \[)")
            elif self.peek("\\") and self.pattern[self.at + 1] in "sSdDpPwW":
                self.at += 1
                text = self.set_by_name()
                others = others or not text
                found.append(text)
            else:
                found.append(self.spans())
        inside = "".join(found)
        if not others:
            return _Part(f"[{'^' if negated else ''}{inside}]", 1, 1)
        if negated:
            return _Part(f"(?:(?![{inside}]){_IS})" if inside else _IS, 1, 1, looks=bool(inside))
        return _Part(f"(?:[{inside}]|{_NOT})" if inside else _NOT, 1, 1)

    def spans(self) -> str:
        """A character within brackets, or all from one to another; where case does not count, with their cases."""
        first = last = self.one()
        if self.peek("-") and self.pattern[self.at + 1 : self.at + 2] not in ("]", "-"):
            self.at += 1
            if self.peek("\\") and self.pattern[self.at + 1] in "sSdDpPwW":
                self.refuse("a range that ends with a set")
            last = self.one()
        if first <= "\udfff" and last >= "\ud800":
            self.refuse("a range with halves of characters (surrogates)")
        text = _plain(first, "[") if first == last else f"{_plain(first, '[')}-{_plain(last, '[')}"
        if "i" not in self.flags:
            return text
        every = {one for code in range(ord(first), ord(last) + 1) for one in self.cases(chr(code))}
        return text + "".join(_plain(one, "[") for one in sorted(every) if not first <= one <= last)

    def one(self) -> str:
        char = self.pattern[self.at]
        self.at += 1
        if char != "\\":
            return char
        if self.take("b"):
            return "\b"
        return self.escaped()


def _is_script(name: str) -> bool:
    try:
        regex.compile(rf"\p{{Script={name}}}")
    except regex.error:
        return False
    return name not in ("katakanaorhiragana", "hrkt")


def _shown(pattern: str) -> str:
    return repr(pattern).replace(r"\\", "\\")


def _plain(char: str, where: str) -> str:
    """A character as it is written, within brackets or without."""
    if char in (r"\]^-[&~|" if where else r"\.^$*+?{}[]()|"):
        return "\\" + char
    return _WRITTEN.get(char, char)
