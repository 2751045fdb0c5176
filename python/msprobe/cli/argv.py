"""The argv normaliser: every spelling users know from argparse, turned into the one spelling Typer reads.

Users of msProbe type `--rank_size 8 4`, `-tp=dump`, `--target dump`, `-lm` with or without a file. Typer knows none of
these. So the words are cut here, by argparse's rules, with the table of options taken from the Typer command itself, and
come out as `--target_path=dump --rank_size=8 --rank_size=4`. Errors are `UsageProblem`s (exit status 2).

The rules, in the order they are applied to each word:

* everything after `--` is a value; so is a word without a dash, a lone `-`, a negative number, a word with a blank;
* a word that is exactly an option, or an option with `=value`, is that option;
* `--targ` is the option it starts, if there is just one; `-oout` is `-o out`;
* an option takes the values that follow it, up to the next option, as many as it can use;
* of a repeated option the last one wins, but each must make sense.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

NEGATIVE_NUMBER = re.compile(r"-\d+|-\d*\.\d+")

LARGEST = 2**63
"""Numbers reach the engine as 64 bits."""

NO_VALUE = "\0"
"""Stands for the missing value of an option whose value may be left out; no word of a command line can hold a NUL."""

HELP = "--help"


class UsageProblem(Exception):
    """The words make no sense; the text says why."""


class Takes(Enum):
    """How many values an option takes."""

    NONE = "none"
    ONE = "one"
    ONE_OR_NONE = "one or none"
    SOME = "one or more"


@dataclass(eq=False, repr=False)
class Option:
    """One option as the normaliser sees it."""

    spellings: tuple[str, ...]
    takes: Takes
    metavar: str = ""
    """What the help shows for the value, and what a value must be: `N` an integer, `db|json` one of these words."""

    @property
    def canonical(self) -> str:
        """The longest spelling, which is the telling one."""
        return max(self.spellings, key=len)

    def check(self, value: str) -> None:
        """Raises `UsageProblem` for a value of the wrong kind."""
        if self.metavar == "N":
            try:
                fits = abs(int(value)) < LARGEST
            except ValueError:
                raise UsageProblem(f"{'/'.join(self.spellings)}: {value!r} is no whole number") from None
            if not fits:
                raise UsageProblem(f"{'/'.join(self.spellings)}: {value} is too large a number")
        elif "|" in self.metavar and value not in self.metavar.split("|"):
            choices = " or ".join(self.metavar.split("|"))
            raise UsageProblem(f"{'/'.join(self.spellings)}: {value!r} must be {choices}")


@dataclass(eq=False, repr=False)
class _Word:
    """A word of the command line: a value (`option` and `unknown` unset), an option, or something like an option."""

    text: str
    option: Option | None = None
    attached: str | None = None
    unknown: bool = False

    @property
    def is_value(self) -> bool:
        return self.option is None and not self.unknown


def normalise(words: Sequence[str], options: Iterable[Option]) -> list[str]:
    """The same command line in canonical spelling: options first, then `--` and the words that belong to no option.

    Each option appears once (the last one wins), a list option once per value. With `-h` anywhere before the first
    mistake the result is `["--help"]`.

    Raises:
        UsageProblem: A word is no option, could be several, or has the wrong number or kind of values.
    """
    table = {spelling: option for option in options for spelling in option.spellings}
    line = [*_classify(words, table)]
    given: dict[str, list[str]] = {}
    loose: list[str] = []
    unknown: list[str] = []
    at = 0
    while at < len(line):
        word = line[at]
        at += 1
        if word.option is None:
            if word.unknown:
                unknown.append(word.text)
            elif word.text != "--":
                loose.append(word.text)
            continue
        following: list[str] = []
        while at + len(following) < len(line) and line[at + len(following)].is_value:
            if line[at + len(following)].text == "--":
                break
            following.append(line[at + len(following)].text)
        try:
            values = _values(word.option, word.attached, following)
            if HELP in word.option.spellings:
                return [HELP]
            for value in values:
                word.option.check(value)
        except UsageProblem as problem:
            raise UsageProblem(f"{problem}{_with_one_dash(word, table)}") from None
        if word.attached is None:
            at += len(values)
        given[word.option.canonical] = values or ([NO_VALUE] if word.option.takes is Takes.ONE_OR_NONE else [])
    if unknown:
        raise UsageProblem(f"unknown option {unknown[0]}{_similar(unknown[0], table)}")
    result = [f"{name}={value}" for name, values in given.items() for value in values]
    result += [name for name, values in given.items() if not values]
    return [*result, "--", *loose] if loose else result


def _classify(words: Sequence[str], table: dict[str, Option]) -> Iterable[_Word]:
    rest_are_values = False
    for text in words:
        if rest_are_values or text == "--":
            # The separator itself ends the values of the option before it.
            rest_are_values = True
            yield _Word(text)
        else:
            yield _option_or_value(text, table)


def _option_or_value(text: str, table: dict[str, Option]) -> _Word:
    if not text.startswith("-") or text == "-":
        return _Word(text)
    if text in table:
        return _Word(text, table[text])
    name, equals, attached = text.partition("=")
    value = attached if equals else None
    if equals and name in table:
        return _Word(text, table[name], value)
    found = {spelling: (table[spelling], value) for spelling in table if spelling.startswith(name)}
    if not text.startswith("--") and text[:2] in table:
        found[text[:2]] = (table[text[:2]], text[2:])
    if len({id(option) for option, _ in found.values()}) > 1:
        one_dash = [name[1:]] if name[1:] in table else []
        raise UsageProblem(f"{name} could be {', '.join([*one_dash, *found])}")
    if found:
        return _Word(text, *found[min(found)])
    if NEGATIVE_NUMBER.fullmatch(text) or " " in text:
        return _Word(text)
    return _Word(text, unknown=True)


def _values(option: Option, attached: str | None, following: list[str]) -> list[str]:
    if option.takes is Takes.NONE:
        if attached is not None:
            raise UsageProblem(f"{option.canonical} takes no value, but got {attached!r}")
        return []
    if attached is not None:
        return [attached]
    values = following if option.takes is Takes.SOME else following[:1]
    if not values and option.takes is not Takes.ONE_OR_NONE:
        raise UsageProblem(f"{'/'.join(option.spellings)} needs a value")
    return values


def _with_one_dash(word: _Word, table: dict[str, Option]) -> str:
    """What was meant, if another option is spelt so with one dash: `--tp` is a size, `-tp` a folder."""
    meant = word.text.partition("=")[0].removeprefix("-")
    return f" (did you mean {meant}?)" if table.get(meant, word.option) is not word.option else ""


def _similar(text: str, table: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(text.partition("=")[0], list(table), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
