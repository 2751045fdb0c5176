"""`graph_visualize`: build or compare, write the `*.vis.db`, print the answer."""

from __future__ import annotations

from typing import Annotated

import typer

from msprobe.cli import gate
from msprobe.cli.argv import NO_VALUE

EXAMPLES = """\
Examples:
  compare two runs (ranks and steps are found by their folder names):
      msprobe-rs graph_visualize -tp run_a/step0 -gp run_b/step0 -o out
  show one run, with NaN and infinity marked:
      msprobe-rs graph_visualize -tp run_a/step0/rank0 -o out -oc
  a gate for CI, exit status 4 if the runs differ (--json: for programs):
      msprobe-rs graph_visualize -tp new -gp old -o out --fail-on difference
  names differ: let the two trees be aligned, or say by rules what faces what:
      msprobe-rs graph_visualize -tp run_a -gp run_b -o out --match align
      msprobe-rs graph_visualize -tp run_a -gp run_b -o out -lm mapping.yaml
  look at the result, in a browser or here:
      tensorboard --logdir out
      msprobe-rs report out/compare_20261130101500.vis.db

Exit status: 0 done, 1 failed, 2 wrong usage, 3 some ranks left out,
4 --fail-on, 129/130/143 stopped.
"""

INPUT = "Dumps"
MATCHING = "Matching and checks"
MERGING = "Merging the ranks of one parallel run into one graph"
OUTPUT = "Output"

MOST_JOBS = 1024
"""More threads than any machine has use for; a system that is asked for a million of them only stalls."""


def graph_visualize(
    target_path: Annotated[str, typer.Option("-tp", "--target_path", metavar="DIR", rich_help_panel=INPUT, help="The dump to look at.")],
    output_path: Annotated[
        str,
        typer.Option("-o", "--output_path", metavar="DIR", rich_help_panel=INPUT, help="Where the *.vis.db goes; made if missing."),
    ],
    golden_path: Annotated[
        str,
        typer.Option(
            "-gp", "--golden_path", metavar="DIR", rich_help_panel=INPUT, help="The dump to trust. Without it the target is shown alone."
        ),
    ] = "",
    layer_mapping: Annotated[
        str | None,
        typer.Option(
            "-lm",
            "--layer_mapping",
            metavar="[FILE]",
            rich_help_panel=MATCHING,
            help="Match layers of different names: by the .yaml file, without one by their place.",
        ),
    ] = None,
    overflow_check: Annotated[
        bool, typer.Option("-oc", "--overflow_check", rich_help_panel=MATCHING, help="Mark where NaN and infinity come from.")
    ] = False,
    fuzzy_match: Annotated[
        bool,
        typer.Option(
            "-fm",
            "--fuzzy_match",
            rich_help_panel=MATCHING,
            help="Match modules by name wherever they are, and calls of an API by counting.",
        ),
    ] = False,
    noise_twin: Annotated[
        str,
        typer.Option(
            "--noise-twin",
            metavar="DIR",
            rich_help_panel=MATCHING,
            help="A second golden run: what it differs by from the first is noise.",
        ),
    ] = "",
    algorithms: Annotated[
        str,
        typer.Option(
            "--algorithms", metavar="DIR", rich_help_panel=MATCHING, help="Further columns by the alg_*.py files in DIR (real data)."
        ),
    ] = "",
    match: Annotated[
        str,
        typer.Option(
            "--match",
            metavar="place|align",
            rich_help_panel=MATCHING,
            help="place, or align: find what was inserted, deleted, renamed or wrapped.",
        ),
    ] = "place",
    rank_size: Annotated[
        list[int] | None,
        typer.Option(
            "--rank_size",
            metavar="N",
            rich_help_panel=MERGING,
            help="Ranks of the target [and golden]; turns merging on. Not supported yet.",
        ),
    ] = None,
    tp: Annotated[list[int] | None, typer.Option("--tp", metavar="N", rich_help_panel=MERGING, help="Tensor parallel size.")] = None,
    pp: Annotated[list[int] | None, typer.Option("--pp", metavar="N", rich_help_panel=MERGING, help="Pipeline parallel size.")] = None,
    vpp: Annotated[
        list[int] | None,
        typer.Option("--vpp", metavar="N", rich_help_panel=MERGING, help="Virtual pipeline stages a rank holds (1)."),
    ] = None,
    order: Annotated[
        list[str] | None,
        typer.Option("--order", metavar="TEXT", rich_help_panel=MERGING, help="How ranks are numbered (tp-cp-ep-dp-pp)."),
    ] = None,
    file_type: Annotated[
        str,
        typer.Option("--file_type", metavar="db|json", rich_help_panel=MERGING, help="db, or json: the merged dump itself."),
    ] = "db",
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", metavar="N", min=1, max=MOST_JOBS, rich_help_panel=OUTPUT, help="Work on so many cores (what the input is worth)."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", rich_help_panel=OUTPUT, help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print the answer as one JSON document.")] = False,
    fail_on: Annotated[
        str | None,
        typer.Option("--fail-on", metavar=gate.CHOICES, rich_help_panel=OUTPUT, help=gate.HELP),
    ] = None,
    tensor_log: Annotated[
        bool,
        typer.Option(
            "-tensor_log", "--is_print_compare_log", rich_help_panel=OUTPUT, help="Two lines on standard error for each pair of tensors."
        ),
    ] = False,
    progress_log: Annotated[
        bool,
        typer.Option(
            "-progress_log", "--is_print_progress_log", rich_help_panel=OUTPUT, help="Progress as `PROGRESS: {json}` lines on stdout."
        ),
    ] = False,
) -> int:
    """Compare two dumps, or show one, and write the *.vis.db that TensorBoard opens.

    DIR is the dump of one rank (dump.json, construct.json, stack.json), a folder of ranks (rank0, rank1, ...; proc4711
    of a single process, which counts as rank 0) or a folder of steps (step0, step1, ...). Long options may be shortened
    (--target), values may be attached (-tp=DIR).
    """
    from msprobe.cli.request import Merge, Options
    from msprobe.cli.run import run

    merge = Merge(rank_size or [], tp or [], pp or [], vpp or [], order or [])
    mapping = None if layer_mapping is None else "" if layer_mapping == NO_VALUE else layer_mapping
    return run(
        Options(
            target=target_path,
            output=output_path,
            golden=golden_path,
            # An empty text is not the same as no file: argparse users get the mapping switched off.
            layer_mapping=None if layer_mapping == "" else mapping,
            overflow_check=overflow_check,
            fuzzy_match=fuzzy_match,
            align=match == "align",
            merge=merge,
            file_type=file_type,
            jobs=jobs,
            noise_twin=noise_twin,
            quiet=quiet,
            json=json,
            fail_on=fail_on,
            tensor_log=tensor_log,
            progress_log=progress_log,
            algorithms=algorithms,
        )
    )
