"""Help that teaches: options in named groups, examples at the end, plain text (rich would double the start-up time)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer.core

from msprobe.cli.argv import Option, Takes

OTHER_OPTIONS = "Help"


def _in_order(names: list[str]) -> list[str]:
    """`-h, --help`: the names of the help option come out of a set, in another order from run to run."""
    return sorted(names, key=len)


class Program(typer.core.TyperGroup):
    """The commands together."""

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """The short one first."""
        return _in_order(super().get_help_option_names(ctx))


class Command(typer.core.TyperCommand):
    """A command whose help shows its options in groups (`rich_help_panel` of each option)."""

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """The short one first."""
        return _in_order(super().get_help_option_names(ctx))

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, each turning its words into values without pydantic."""
        return [_plainly(parameter) for parameter in super().get_params(ctx)]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Options that are needed with their values, then the rest in brackets."""
        needed, arguments = [], []
        for parameter in self.get_params(ctx):
            if parameter.param_type_name == "argument":
                arguments.append(parameter.metavar)
            elif parameter.required:
                needed.append(f"{parameter.opts[0]} {parameter.metavar}")
        return [*arguments, *needed, "[OPTIONS]"]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes one section per group, in the order in which the groups first appear."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if getattr(parameter, "hidden", False) or parameter.param_type_name != "option":
                continue
            group = getattr(parameter, "rich_help_panel", None) or OTHER_OPTIONS
            spellings = ", ".join(parameter.opts)
            value = f" {parameter.metavar}" if parameter.metavar else ""
            several = " ..." if getattr(parameter, "multiple", False) else ""
            groups.setdefault(group, []).append((f"{spellings}{value}{several}", getattr(parameter, "help", None) or ""))
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows, col_max=38)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the signature is Typer's
        """Writes the examples as they stand."""
        if self.epilog:
            formatter.write("\n" + self.epilog.rstrip() + "\n")


def _plainly(parameter: Any) -> Any:
    """Lets a parameter convert its words itself.

    Recent versions of Typer load pydantic for that, which doubles the start-up time. The words have passed the argv normaliser, so
    there is nothing left to check but the range of a number. Other versions of Typer keep their own way.
    """
    if hasattr(parameter, "get_runtime_param"):
        parameter.get_runtime_param = lambda: _Words
    return parameter


class _Words:
    """Words to values, for Typer: texts, whole numbers (metavar `N`), flags, and lists of these."""

    @classmethod
    def coerce(cls, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple else None
        if param.multiple:
            return [cls._one(word, param, ctx) for word in value]
        return cls._one(value, param, ctx)

    @staticmethod
    def _one(word: Any, param: Any, ctx: Any) -> Any:
        if param.metavar != "N":
            return word
        number, info = int(word), param.type_descriptor.parameter_info
        if info.min is not None and number < info.min:
            raise typer.BadParameter(f"{number} is less than {info.min}", ctx=ctx, param=param)
        if info.max is not None and number > info.max:
            raise typer.BadParameter(f"{number} is more than {info.max}", ctx=ctx, param=param)
        return number


def options_of(parameters: Sequence[Any]) -> list[Option]:
    """The table for the argv normaliser, from the parameters of a Typer command.

    A metavar in brackets says that the value may be left out.
    """
    table = [Option(("-h", "--help"), Takes.NONE)]
    for parameter in parameters:
        if parameter.param_type_name != "option":
            continue
        metavar = parameter.metavar or ""
        if parameter.is_flag:
            takes = Takes.NONE
        elif parameter.multiple:
            takes = Takes.SOME
        else:
            takes = Takes.ONE_OR_NONE if metavar.startswith("[") else Takes.ONE
        table.append(Option((*parameter.opts, *parameter.secondary_opts), takes, metavar))
    return table
