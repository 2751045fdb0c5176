from collections.abc import Callable
from os import PathLike
from typing import Any, final

__all__ = [
    "EngineError",
    "Rows",
    "Viewer",
    "__version__",
    "compare_tensors",
    "graph_visualize",
    "read_tensor",
    "report",
    "suggest_mapping",
    "tensor_info",
    "tree",
    "tree_page",
]

__version__: str

class EngineError(Exception):
    """The engine gave up. `args` is `(exit_status, message)`."""

def graph_visualize(
    request_json: str,
    progress: Callable[[str], object] | None = None,
    tensor_log: Callable[[list[str]], object] | None = None,
    algorithms: Any | None = None,
    drift: bool = True,
) -> str:
    """Build or compare, write the `*.vis.db`, return the summary as JSON.

    Args:
        request_json: The request, see `msprobe.cli.request`.
        progress: Called with a JSON object at most ten times a second, from the calling thread.
        algorithms: Further columns for such dumps, an `msprobe.cli.algorithms.Algorithms`.
        drift: With the drift of each rank; else it is empty.
        tensor_log: Called likewise with new lines, two for every pair of parameters of dumps of task `tensor`.

    Raises:
        EngineError: The work failed; `args` is `(exit_status, message)`.
        ValueError: The request is not one.
    """

def suggest_mapping(target: str | PathLike[str], golden: str | PathLike[str]) -> str:
    """Proposes a layer mapping for two dumps.

    Args:
        target: Folder of a rank, of ranks or of steps; of several the first that both sides have is looked at.
        golden: The same of the other side.

    Returns:
        JSON: `text` (the mapping file), `sure`, `likely`, `guess` (numbers of rules), `target`, `golden` (the ranks).

    Raises:
        EngineError: A dump cannot be read.
    """

def report(
    path: str | PathLike[str],
    *,
    step: int | None = None,
    rank: int | None = None,
    top: int = 5,
    only: str | None = None,
    noise: float | None = None,
    noise_twin: str | PathLike[str] | None = None,
    drift: bool = True,
) -> str:
    """Where two runs first part, as JSON (`docs/report.schema.json`).

    Args:
        path: A `*.vis.db`, also one that msProbe wrote.
        step: Only this step.
        rank: Only this rank.
        top: Runner-ups and listed nodes of each rank, at most.
        only: Nodes to list: `error`, `warning`, `unmatched` or `overflow`.
        noise: Epsilons that count as noise.
        noise_twin: The comparison of a second golden run with the golden run.
        drift: With the drift of each rank; else it is empty.

    Raises:
        EngineError: The file cannot be read; `args` is `(exit_status, message)`.
        ValueError: An argument makes no sense.
    """

def tree(
    path: str | PathLike[str],
    node: str | None = None,
    *,
    depth: int | None = None,
    golden: bool = False,
    step: int | None = None,
    rank: int | None = None,
    first_difference: bool = False,
    limit: int = 1000,
) -> str:
    """The tree below a node as JSON: `{"step": int, "rank": int, "places": int, "lines": [...], "more": bool}`.

    There is a line for each node in execution order; `places` is the number of steps and ranks in the file.

    Args:
        path: A `*.vis.db`, also one that msProbe wrote.
        node: Start here instead of at the root.
        depth: Levels; two when absent.
        golden: The golden tree.
        step: This step; that of the first difference when absent.
        rank: This rank; that of the first difference when absent.
        first_difference: Mark where the step and rank first part; without `node` and `depth` the tree is opened down to it.
        limit: Lines, at most.

    Raises:
        EngineError: The file cannot be read or has no such node; `args` is `(exit_status, message)`.
    """

@final
class Rows:
    """Rows of a file as Arrow: any library that knows `__arrow_c_stream__` takes them without a copy."""

    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        rows: str = "parameters",
        golden: bool = False,
        step: int | None = None,
        rank: int | None = None,
    ) -> Rows: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule with a new `ArrowArrayStream` over the rows; batches are read as they are asked for."""

    def export(self, path: str | PathLike[str], kind: str) -> int:
        """Writes the rows to a file, `csv`, `json` or `xlsx`, and returns their number."""

def tensor_info(path: str | PathLike[str], dtype: str | None = None) -> dict[str, Any]:
    """What a `.pt` or `.npy` file holds; see `msprobe.tensors.tensor_info`.

    Raises:
        EngineError: The file cannot be used; `args` is `(exit_status, message)`.
    """

def read_tensor(path: str | PathLike[str], dtype: str | None = None, limit: int = ...) -> tuple[str, list[int], bytes]:
    """Type, shape and elements; see `msprobe.tensors.read_tensor`.

    Raises:
        EngineError: The file cannot be used, or its elements take more than `limit` bytes.
    """

def compare_tensors(
    target: str | PathLike[str], golden: str | PathLike[str], target_dtype: str | None = None, golden_dtype: str | None = None
) -> dict[str, Any]:
    """The numbers of two files; see `msprobe.tensors.compare_tensors`.

    Raises:
        EngineError: One of the files cannot be used.
    """

def tree_page(path: str | PathLike[str], shown: list[tuple[int, int, str]]) -> str:
    """The trees of all steps and ranks as HTML without script; the way to each of `shown` (step, rank, name) stands open.

    Raises:
        EngineError: The file cannot be read; `args` is `(exit_status, message)`.
    """

@final
class Viewer:
    """Answers questions about the `*.vis.db` files below one log directory."""

    def __new__(cls, logdir: str | PathLike[str]) -> Viewer: ...
    def answer(self, route: str, pairs: list[tuple[str, str]]) -> tuple[int, bytes]:
        """Status of HTTP and strict JSON for `route` with name and value `pairs`. Never raises for anything a browser sends."""
    def edit(self, path: str, request: str) -> tuple[int, bytes]:
        """Changes matches of the file at `path` as the JSON `request` says; an answer of the same form."""
    def matches(self, path: str, step: int, rank: int) -> tuple[int, bytes]:
        """What can be done with the matches of a step and rank of the file at `path`."""
