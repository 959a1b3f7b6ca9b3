"""Run the workloads: `uv run python -m tests.benchmarks`."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import contest
from .cold import starts
from .measure import SMALLER, instructions, machine
from .picture import draw
from .records import KINDS, Results
from .scaling import GROWING, Growing
from .side_by_side import How, Workload
from .sureness import SURENESS, Sureness
from .tables import report
from .workloads import WORKLOADS

EXAMPLES = """examples:
  python -m tests.benchmarks                               all of it, on fewer rows, in two minutes
  python -m tests.benchmarks --only G1,M1 --no-starts
  python -m tests.benchmarks --scale full --json full.json --picture times.svg
  python -m tests.benchmarks --only U --no-starts   intervals and uncertainty, ours against ours
  python -m tests.benchmarks --only N --no-starts   rows a second and memory, by rows and processes
  python -m tests.benchmarks --read full.json              the tables again, from an earlier run
  python -m tests.benchmarks --contest --help              probabilities beside other methods', on public tables
  python -m tests.benchmarks --instructions avx2 --only M1 --no-starts   as on a smaller processor
  python -m tests.benchmarks --check                       exit status 1 if a target is missed by far
"""
type Work = Workload | Sureness | Growing
EVERY: list[Work] = [*WORKLOADS, *SURENESS, *GROWING]
SCALES = {"quick": None, "full": 1.0}
CHECKED = "G1,G3,M1,B1,B2,C1"  # on a smaller processor too; G1 includes G1-holes
# times that a workload is measured once more: what missed its goal by far each time has failed
AGAIN = 2
SECONDS = {"quick": 0.2, "full": 3.0}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or read what was measured, and show it; the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    if "--contest" in given:
        return contest.main(given)
    asked = parser().parse_args(given)
    if asked.instructions and not asked.read and instructions() != asked.instructions:
        return elsewhere(given, asked.instructions)
    results = Results.from_json(Path(asked.read).read_text()) if asked.read else measured(asked)
    print(report(results))
    if asked.json:
        Path(asked.json).write_text(results.to_json() + "\n")
    if asked.picture:
        draw(results, asked.picture)
    if asked.check and results.failures:
        print("\nmissed by far:", *results.failures, sep="\n  ", file=sys.stderr)
        return 1
    if asked.check and asked.only is EVERY and not asked.read and instructions() == "avx512f":
        return elsewhere(["--check", "--only", CHECKED, "--no-memory", "--no-starts"], "avx2")
    return 0


def elsewhere(given: Sequence[str], smaller: str) -> int:
    """Measure in a new process whose kernels are compiled for a smaller processor; the exit status."""
    processor = {
        "NUMBA_CPU_NAME": SMALLER[smaller],
        "NUMBA_CPU_FEATURES": "",
    }  # none of this one's beside it
    say(f"as on a processor with {smaller}")
    command = [sys.executable, "-m", "tests.benchmarks", *given]
    return subprocess.run(command, env=os.environ | processor, check=False).returncode


def measured(asked: argparse.Namespace) -> Results:
    """Everything that is asked for, workload by workload; talk goes to stderr."""
    scale = SCALES[asked.scale] if asked.scale in SCALES else float(asked.scale)
    seconds = SECONDS.get(asked.scale, SECONDS["quick"]) if asked.seconds is None else asked.seconds
    how = How(scale, seconds, asked.threads, asked.memory)
    found = []
    for work in asked.only:
        say(f"{work.name}: {work.about}")
        records = list(work.measure(how))
        for _ in range(AGAIN if asked.check else 0):
            if any(record.failed for record in records):
                say(f"{work.name}: again, for a machine that was busy")
                again = work.measure(how)
                records = [
                    new if old.failed else old for old, new in zip(records, again, strict=True)
                ]
        found += records
    by_kind: dict[str, Any] = {
        name: [each for each in found if isinstance(each, kind)] for name, kind in KINDS.items()
    }
    results = Results(machine() | {"scale": asked.scale, "threads": how.threads}, **by_kind)
    if asked.starts:
        say("new processes")
        results.starts.extend(starts())
    return results


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def chosen(names: str) -> list[Work]:
    """The workloads of these names; G1 stands for G1-holes too, and U for all that begin with it."""
    known = {work.name: work for work in EVERY}
    groups = {name: name.split("-")[0] for name in known}
    asked = names.split(",")
    unknown = set(asked) - set(known) - set(groups.values())
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no workload {', '.join(sorted(unknown))}; there are {', '.join(known)}"
        )
    return [work for name, work in known.items() if name in asked or groups[name] in asked]


def scale(text: str) -> str:
    """A word or a positive factor."""
    if text not in SCALES and not float(text) > 0:
        raise ValueError
    return text


def parser() -> argparse.ArgumentParser:
    """The command line."""
    line = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Every workload side by side with scikit-learn, or with ourselves, in one process, in turn.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = line.add_argument
    add(
        "--scale",
        type=scale,
        default="quick",
        help="quick (default), full, or a factor for the full numbers of rows",
    )
    add(
        "--only",
        type=chosen,
        default=EVERY,
        metavar="G1,M1",
        help="these workloads; G1 includes G1-holes",
    )
    add(
        "--instructions",
        choices=SMALLER,
        help="compile kernels for a processor that has no larger ones",
    )
    add("--threads", type=int, metavar="N", help="n_jobs of our estimators (default: theirs)")
    add(
        "--seconds",
        type=float,
        metavar="S",
        help="for each operation (default 0.2, full 3); three rounds at least",
    )
    add("--no-memory", dest="memory", action="store_false", help="do not measure memory")
    add(
        "--no-starts",
        dest="starts",
        action="store_false",
        help="do not measure the first calls of new processes",
    )
    add("--read", metavar="JSON", help="show an earlier run instead of measuring")
    add("--json", metavar="PATH", help="write all figures")
    add("--picture", metavar="PATH", help="draw them (SVG, or what the name's ending says)")
    add("--check", action="store_true", help="exit status 1 if a target is missed by far")
    return line


if __name__ == "__main__":
    sys.exit(main())
