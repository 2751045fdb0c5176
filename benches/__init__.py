"""Timings of whole commands; `make bench` runs them and writes BENCHMARKS.md.

Every bench is a module with a function `run() -> Result`. It writes `results/<name>.json`; BENCHMARKS.md is made of those files
alone (see `document`), so a bench that is run by itself, or in another way, gets its section all the same.
"""
