#!/usr/bin/env python3
"""Compare a vis.db with recorded results of msProbe 26.2, row by row and column by column.

usage: parity.py EXPECTED DB [--show N] [--strict] [--kept]

EXPECTED is a directory with expected_{nodes,config,stack}.json, a `.json.gz` with {"tables": {name: {columns, rows}}},
or another vis.db. Every node row must exist on both sides and agree in every column; `input_data`/`output_data` are
compared as ordered maps of ordered maps of texts, `stack_id` through the stack text it points at, `dump_data_dir`
by its last two parts, numbers of the tensor metrics (task `all` only) with a relative tolerance of 1e-6; all other
texts exactly.

Where our result is meant to differ from the reference's, the difference is accepted by a named rule. D*, V*, M*, O* are
the ids of the "Reference defects we do better" tables; X1 (dtypes of two frameworks compared by meaning), E1 (an `info:`
reason appended to Err_message), L (more communication links), N1 (parameters and keyword inputs paired by name) and P10 (step of a merged
step folder) are decided in the README of this folder. Each acceptance is counted and printed, so that nothing hides
behind a rule. --strict switches all rules off. --kept expects nodes that the reference loses: they are checked for a
real parent, taken out, and everything else must then be equal. Exit status 0 only if nothing else differs.
"""

import argparse
import ast
import collections
import contextlib
import gzip
import json
import math
import os
import re
import sqlite3
import sys
from pathlib import Path

TENSOR_METRICS = {"Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio"}
UNINITIALISED = {"empty", "empty_like", "empty_with_format", "new_empty_strided", "new_empty", "empty_strided"}
DTYPE_MESSAGE = "error: The dtype of NPU and Bench are inconsistent."
LEVELS = [None, "medium", "high", "critical"]
COLUMNS = {
    "tb_nodes": "id graph_id node_order node_name node_type up_node sub_nodes precision_index overflow_level micro_step_id matched_node_link stack_id "
    "parallel_merge_info matched_distributed modified input_data output_data data_source dump_data_dir step rank is_distributed".split(),
    "tb_config": "id graph_type task tool_tip micro_steps overflow_check node_colors rank_list step_list".split(),
    "tb_stack": "id stack_info".split(),
}


def load(path):
    """-> {table: {id: row dict}} of one result."""
    if os.path.isdir(path):
        raw = {
            t: json.loads(Path(path, f"expected_{f}.json").read_text(encoding="utf-8"))
            for t, f in (("tb_nodes", "nodes"), ("tb_config", "config"), ("tb_stack", "stack"))
        }
    elif path.endswith(".json.gz"):
        tables = json.loads(gzip.decompress(Path(path).read_bytes()))["tables"]
        raw = {t: [dict(zip(v["columns"], r, strict=True)) for r in v["rows"]] for t, v in tables.items()}
    else:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as con:
            con.row_factory = sqlite3.Row
            raw = {t: [dict(r) for r in con.execute(f"select * from {t}")] for t in COLUMNS}
    for table, rows in raw.items():
        if rows and list(rows[0]) != COLUMNS[table]:
            sys.exit(f"{path}: columns of {table} are {list(rows[0])}")
    if len(raw["tb_config"]) != 1:
        sys.exit(f"{path}: {len(raw['tb_config'])} rows in tb_config")
    return {t: {r["id"]: r for r in rows} for t, rows in raw.items()}


def close(a, b):
    a, b = str(a), str(b)
    if a.endswith("%") != b.endswith("%"):
        return False
    try:
        x, y = float(a.rstrip("%")), float(b.rstrip("%"))
    except ValueError:
        return False
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    return x == y or abs(x - y) <= 1e-6 * max(abs(x), abs(y))


def tail(path):
    return path if not path else "/".join(path.rstrip("/").split("/")[-2:])


class Check:
    def __init__(self, expected, actual, strict, kept=False):
        self.e, self.a, self.strict, self.kept = expected, actual, strict, kept
        self.diffs, self.accepted, self.same = [], collections.Counter(), 0
        self.redone = {}  # node id -> rule under which its rows were judged anew
        self.task = expected["tb_config"]["1"]["task"]
        self.build = expected["tb_config"]["1"]["graph_type"] == "build"
        self.steps = max(n["micro_step_id"] for n in actual["tb_nodes"].values()) + 1

    def accept(self, rule):
        if self.strict or rule is None:
            return False
        self.accepted[rule] += 1
        return True

    def diff(self, where, column, expected, actual):
        self.diffs.append((where, column, expected, actual))

    def value(self, where, column, expected, actual, rule=None):
        if expected == actual:
            self.same += 1
        elif not self.accept(rule):
            self.diff(where, column, expected, actual)

    # one row of tb_config

    def config(self):
        ec, ac = self.e["tb_config"]["1"], self.a["tb_config"]["1"]
        nodes = [n for n in self.a["tb_nodes"].values() if n["data_source"] == "NPU"]
        ranks, steps = (str(sorted({n[c] for n in nodes})) for c in ("rank", "step"))
        graphs = {(n["step"], n["rank"]) for n in self.e["tb_nodes"].values()}
        for col, want in ec.items():
            got, rule = ac.get(col), None
            if col in ("tool_tip", "node_colors") and want and got:
                want, got = json.loads(want), json.loads(got)
            elif col == "rank_list" and len(graphs) > 1 and got == ranks:
                rule = "V3 union of the ranks"
            elif col == "micro_steps" and got == self.steps:
                rule = "V3 maximum over all graphs"
            elif col == "step_list" and want == "[0]" and got == steps:
                rule = "P10 step of a merged step folder"
            self.value("tb_config", col, want, got, rule)

    # names and places

    @staticmethod
    def misplaced(name):
        """D4/M9: the reference sorts rows by searching the name for '.output.' / '.input.'."""
        return bool({"output", "input"} & set(name.split(".")[1:-1]))

    def partner(self, node):
        link = json.loads(node["matched_node_link"] or "[]")
        other = "Bench" if node["data_source"] == "NPU" else "NPU"
        return self.e["tb_nodes"].get(f"{other}_{node['step']}_{node['rank']}_{link[-1]}") if link else None

    def reordered(self, node):
        """N1: both sides have the same parameter or keyword names in another order."""
        other = self.partner(node)
        if other is None:
            return False
        mine, theirs = ([k[len(n["node_name"]) :] for k in json.loads(n["input_data"])] for n in (node, other))
        return mine != theirs and sorted(mine) == sorted(theirs)

    def collection_index(self, table, row):
        prefix = f"{row['data_source']}_{row['step']}_{row['rank']}_"
        got = []
        for k in json.loads(row["sub_nodes"] or "[]"):
            child = table.get(prefix + k)
            if child is not None:
                v = self.collection_index(table, child) if child["node_type"] == "9" else child["precision_index"]
                got += [] if v is None else [v]
        return max(got) if got else None

    def anew(self, node):
        """The rule, if any, by which the comparison of this whole node may differ."""
        other = self.partner(node)
        if self.misplaced(node["node_name"]) or (other and self.misplaced(other["node_name"])):
            return "D4/M9 misplaced rows"
        if re.search(r"\.parameters_grad\.\d+$", node["node_name"]) and not self.build:
            return "M5 numbered parameters_grad in a mapping" if not self.reordered(node) else "N1 paired by name"
        if self.reordered(node):
            return "N1 paired by name"
        return self.redone.get(node["id"])

    # input_data / output_data

    def messages(self, node, want_row, got_row):
        try:
            want, got = ast.literal_eval(want_row["Err_message"]), ast.literal_eval(got_row["Err_message"])
        except (ValueError, SyntaxError):
            return False
        kept = [m for m in want if m in got]
        if got[: len(kept)] != kept or any(not m.startswith("info:") for m in got[len(kept) :]):
            return False
        if len(kept) == len(want):
            return self.accept("E1 reason added to Err_message")
        if [m for m in want if m not in got] != [DTYPE_MESSAGE] or str(want_row.get("dtype", "")).startswith("torch."):
            return False
        self.redone[node["id"]] = "X1 dtype spelled differently across frameworks"
        return self.accept(self.redone[node["id"]])

    def rows(self, where, column, node, actual_node, want, got):
        want, got = json.loads(want), json.loads(got)
        if list(want) != list(got):
            both = [sorted(k for c in ("input_data", "output_data") for k in json.loads(n[c])) for n in (node, actual_node)]
            if not (self.misplaced(node["node_name"]) and both[0] == both[1] and self.accept("D4/M9 misplaced rows")):
                self.diff(where, column + " keys", list(want), list(got))
            return
        for key, w in want.items():
            g = got[key]
            if w == {"value": "null"} and g != w:
                whole = {"type", "dtype", "shape"} & set(g) and g.get("Max") == "null"
                if not (whole and self.accept("D6 null row kept in full")):
                    self.diff(where, f"{column}[{key}]", w, g)
                continue
            if self.build and "md5" in g and "md5" not in w and g["md5"] and self.accept("V5/D7 md5 shown in build"):
                g = {k: v for k, v in g.items() if k != "md5"}
            if list(w) != list(g):
                bare = [[c for c in r if c not in COMPARED] for r in (w, g)]
                if bare[0] != bare[1] or not self.accept(self.anew(node)):
                    self.diff(where, f"{column}[{key}] keys", list(w), list(g))
                    continue
            for col in sorted(w.keys() & g.keys(), key=lambda c: c != "Err_message"):
                if w[col] == g[col] or (self.task == "all" and col in TENSOR_METRICS and close(w[col], g[col])):
                    self.same += 1
                elif col == "Err_message" and self.messages(node, w, g):
                    pass
                elif col in COMPARED and self.accept(self.anew(node)):
                    pass
                else:
                    self.diff(where, f"{column}[{key}][{col}]", w[col], g[col])

    # the other columns

    def level_rule(self, node, want, got):
        """O*: overflow levels that the reference misses or gives wrongly."""
        parts = node["node_name"].split(".")
        if got not in LEVELS:
            return None
        if got is None:
            return "O5 uninitialised memory" if len(parts) > 1 and parts[1] in UNINITIALISED else None
        if LEVELS.index(got) < LEVELS.index(want) and (want, got) != ("critical", "high"):
            return None
        rows = {k: r for c in ("input_data", "output_data") for k, r in json.loads(node[c]).items()}
        bad = any(
            str(r.get(k, "")).lower().lstrip("-") in ("nan", "inf", "infinity") for r in rows.values() for k in ("Max", "Min", "Mean")
        )
        other = any(r.get("type") not in (None, "torch.Tensor") and r.get("Norm", "null") != "null" for r in rows.values())
        nested = any(re.search(r"\.(input|output)\.\w+\.\w+", k[len(node["node_name"]) :]) for k in rows)
        return "O2-O6 level the reference misses" if bad or other or nested or node["is_distributed"] else None

    def index_rule(self, table, e, a, got):
        parts = e["node_name"].split(".")
        if e["node_type"] == "9":
            return "V4/M2 collection index" if got == self.collection_index(table, a) else None
        if self.task == "md5" and len(parts) > 1 and parts[1] in UNINITIALISED and got == 0:
            return "M1 uninitialised memory in md5 mode"
        return self.anew(e) if got in (None, 0, 0.5, 1) else None

    def micro_rule(self, table, e, a, got):
        if not 0 <= got < self.steps:
            return None
        if "parameters_grad" in e["node_name"]:
            parent = table.get(f"{a['data_source']}_{a['step']}_{a['rank']}_{a['up_node']}")
            return "D8 parameters_grad micro step" if parent and parent["micro_step_id"] == got else None
        return "D9 golden micro step" if e["data_source"] == "Bench" else None

    def nodes(self):
        en, an = self.e["tb_nodes"], dict(self.a["tb_nodes"])
        for missing in en.keys() - an.keys():
            self.diff(missing, "row", "present", "missing")
        extra = an.keys() - en.keys()
        for id_ in sorted(extra):
            n = an[id_]
            has_parent = f"{n['data_source']}_{n['step']}_{n['rank']}_{n['up_node']}" in self.a["tb_nodes"]
            if not (self.kept and has_parent and self.accept("D1/D2 node the reference loses")):
                self.diff(id_, "row", "absent", "present")
        order = {id_: n["node_order"] for id_, n in an.items()}
        if self.kept:  # the rest must be equal once the extra nodes are taken out
            names = {(an[i]["graph_id"], an[i]["node_name"]) for i in extra}
            by_graph = collections.defaultdict(list)
            for id_ in an.keys() - extra:
                by_graph[an[id_]["graph_id"]].append(id_)
            for ids in by_graph.values():
                for k, id_ in enumerate(sorted(ids, key=order.get)):
                    order[id_] = k
        for id_ in en.keys() & an.keys():
            e, a = en[id_], an[id_]
            for col, want in sorted(e.items(), key=lambda kv: kv[0] not in ("input_data", "output_data")):
                got = a.get(col)
                if col in ("input_data", "output_data"):
                    self.rows(id_, col, e, a, want, got)
                elif col == "stack_id":
                    es = self.e["tb_stack"].get(want, {}).get("stack_info")
                    as_ = self.a["tb_stack"].get(got, {}).get("stack_info")
                    lost = es and "cannot find the forward node" in es
                    self.value(id_, "stack", es, as_, "D12 stack of a backward node" if lost else None)
                elif col == "dump_data_dir":
                    self.value(id_, col, tail(want), tail(got))
                elif col == "precision_index":
                    self.value(id_, col, want, got, self.index_rule(an, e, a, got) if want != got else None)
                elif col == "micro_step_id":
                    self.value(id_, col, want, got, self.micro_rule(an, e, a, got) if want != got else None)
                elif col == "overflow_level":
                    self.value(id_, col, want, got, self.level_rule(e, want, got) if want != got else None)
                elif col == "matched_distributed":
                    want, got = json.loads(want or "{}"), json.loads(got or "{}")
                    rule = "L more links than the reference finds" if want == {} and e["is_distributed"] and "nodes_info" in got else None
                    self.value(id_, col, want, got, rule)
                elif col == "matched_node_link":
                    numbered = re.search(r"\.parameters_grad\.\d+$", e["node_name"])
                    self.value(id_, col, want, got, "M5 numbered parameters_grad in a mapping" if numbered else None)
                elif col == "node_order":
                    self.value(id_, col, want, order[id_])
                elif col == "sub_nodes" and self.kept:
                    left = [k for k in json.loads(got or "[]") if (a["graph_id"], k) not in names]
                    self.value(id_, col, json.loads(want or "[]"), left)
                else:
                    self.value(id_, col, want, got)

    def run(self):
        self.config()
        self.nodes()
        return self


COMPARED = TENSOR_METRICS | {
    "Max diff",
    "Min diff",
    "Mean diff",
    "L2norm diff",
    "MinRelativeErr",
    "MeanRelativeErr",
    "NormRelativeErr",
    "Requires_grad Consistent",
    "Result",
    "Err_message",
}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("expected")
    ap.add_argument("db")
    ap.add_argument("--show", type=int, default=10)
    ap.add_argument("--strict", action="store_true")
    ap.add_argument("--kept", action="store_true", help="expect nodes that the reference loses")
    args = ap.parse_args()
    c = Check(load(args.expected), load(args.db), args.strict, args.kept).run()
    for where, col, want, got in c.diffs[: args.show]:
        print(f"DIFF {where} | {col}\n   want {str(want)[:300]}\n   got  {str(got)[:300]}")
    for rule, n in sorted(c.accepted.items()):
        print(f"accepted {n} x {rule}")
    print(f"{len(c.diffs)} differences, {sum(c.accepted.values())} accepted, {c.same} equal values")
    sys.exit(1 if c.diffs else 0)


if __name__ == "__main__":
    main()
