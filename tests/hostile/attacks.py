"""Attacks of one pod on its node's agent, each at ten times its limit or more."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from agent.tailing.chunk import Limits
from shared.parsing.json_scan import MOST_BRACKETS
from shared.parsing.metric_names import MOST_METRICS
from shared.parsing.tfevents import MOST_RECORD_BYTES
from shared.places import LONGEST_ANNOTATION
from tests.unit.parsing import tfevents_files as events

KIB, MIB = 1024, 2**20
NAMES = 10 * MOST_METRICS
FILES = 16
LONG = 10 * Limits().line_bytes
CRI = "2016-10-06T00:17:09.669794202Z stdout F "


def history_of_empty_entries(job: Path) -> str:
    (job / "state.json").write_bytes(b'{"log_history": [' + b"{}," * (10 * MOST_BRACKETS) + b"{}]}")
    return "path=state.json; format=trainer-state"


def history_of_strings(job: Path) -> str:
    (job / "state.json").write_bytes(b'{"log_history": [' + b'"",' * (10 * MIB) + b'""]}')
    return "path=state.json; format=trainer-state"


def history_of_long_entries(job: Path) -> str:
    keys = ", ".join(f'"key-{n}": 1' for n in range(NAMES))
    entries = ",".join(f'{{"step": {n}, {keys}}}' for n in range(100))
    (job / "state.json").write_text(f'{{"log_history": [{entries}]}}')
    return "path=state.json; format=trainer-state"


def invented_names_in_a_log(job: Path) -> str:
    known = f"{CRI}{{'loss': 1.0, 'epoch': 0.5}}\n" * 5
    with (job / "0.log").open("w") as stream:
        stream.write(known)
        for line in range(NAMES // 10):
            values = {f"{'n' * 150}-{line}-{k}": 1.0 for k in range(100)}
            stream.write(f"{CRI}{values | {'epoch': line}}\n")
    return "path=log"


def invented_names_in_files(job: Path) -> str:
    (job / "out").mkdir()
    for file in range(FILES):
        lines = (
            json.dumps({"step": i, **{f"{'é' * 150}-{file}-{i}-{k}": 1.0 for k in range(200)}})
            for i in range(NAMES // 200)
        )
        (job / "out" / f"{file}.jsonl").write_text("\n".join(lines) + "\n")
    return "path=out/*"


def invented_names_for_each_rank(job: Path) -> str:
    with (job / "out.txt").open("w") as stream:
        for rank in range(640, 0, -1):
            values = json.dumps({"step": 1, **{f"{rank}-{k}": 1.0 for k in range(256)}})
            stream.write(f"[default{rank}]:{values}\n" * 2)
    return "path=out.txt"


def lines_without_end(job: Path) -> str:
    (job / "out").mkdir()
    for file in range(FILES):
        (job / "out" / f"{file}.txt").write_bytes(b"x" * LONG)
    return "path=out/*"


def nothing_but_line_ends(job: Path) -> str:
    (job / "0.log").write_bytes(
        CRI.encode() + b"a\r" * MIB + b"\n" + (CRI.encode() + b"\r" * 9000 + b"\n") * 200
    )
    return "path=log"


def long_lines_of_objects(job: Path) -> str:
    line = '{"step": 1, "loss": [' + "{}," * 20_000 + "{}]}\n"
    (job / "out.jsonl").write_text(line * 60)
    return "path=out.jsonl"


def records_of_many_fields(job: Path) -> str:
    many = b"".join(events.field(n, 1) for n in range(1, MOST_RECORD_BYTES // 5))
    record = events.record(events.event(1, many[: MOST_RECORD_BYTES - 100]))
    (job / "events.out.tfevents.1").write_bytes(record * 10)
    return "path=events*"


def records_of_many_tags(job: Path) -> str:
    values = [events.simple(f"{'t' * 150}-{n}", 1.0) for n in range(NAMES)]
    parts = (values[i : i + 200] for i in range(0, len(values), 200))
    records = b"".join(events.record(events.event(n, *part)) for n, part in enumerate(parts))
    (job / "events.out.tfevents.1").write_bytes(records)
    return "path=events*"


def a_record_that_never_ends(job: Path) -> str:
    huge = events.record(b"x" * 100)[:8]
    (job / "out").mkdir()
    for file in range(FILES):
        record = events.record(b"x" * (MOST_RECORD_BYTES - 1))
        (job / "out" / f"events.out.tfevents.{file}").write_bytes(record[:-1])
    (job / "out" / "events.out.tfevents.99").write_bytes(huge)
    return "path=out/*"


def a_table_of_many_columns(job: Path) -> str:
    names = ",".join(["step", *(f"{'c' * 150}-{n}" for n in range(250))])
    rows = "".join(f"{n},{','.join(['1'] * 250)}\n" for n in range(2000))
    (job / "out.csv").write_text(f"{names}\n{rows}")
    return "path=out.csv"


def steps_that_always_go_back(job: Path) -> str:
    lines = (json.dumps({"step": 100_000 - n, "loss": float("nan")}) for n in range(30_000))
    (job / "out.jsonl").write_text("\n".join(lines) + "\n")
    return "path=out.jsonl"


def a_slow_pattern(job: Path) -> str:
    (job / "out.txt").write_text(("a" * 1000 + "\n") * 2000)
    return "path=out.txt; metric=loss; regex=(?:a?){450}(?P<value>[cd])"


def an_annotation_without_end(job: Path) -> str:
    return "path=" + "a/" * 10 * LONGEST_ANNOTATION


def hundreds_of_files(job: Path) -> str:
    (job / "out").mkdir()
    first = job / "out" / "0.jsonl"
    first.write_text('{"step": 1, "loss": 1.0}\n')
    for number in range(1, 600):
        os.link(first, job / "out" / f"{number}.jsonl")
    return "path=out/*"


ATTACKS: tuple[Callable[[Path], str], ...] = (
    history_of_empty_entries,
    history_of_strings,
    history_of_long_entries,
    invented_names_in_a_log,
    invented_names_in_files,
    invented_names_for_each_rank,
    lines_without_end,
    nothing_but_line_ends,
    long_lines_of_objects,
    records_of_many_fields,
    records_of_many_tags,
    a_record_that_never_ends,
    a_table_of_many_columns,
    steps_that_always_go_back,
    a_slow_pattern,
    an_annotation_without_end,
    hundreds_of_files,
)
