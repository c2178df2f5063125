"""Benchmarks: each module is a program of its own; README.md says what each shows."""
