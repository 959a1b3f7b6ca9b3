"""What a run finds out: small records that know their goal, and how all of them become JSON and return from it.

`ok` says that a record reached its goal, `failed` that it missed it by so much that noise is no
excuse.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self

GAIN = 1.7  # of a second thread, where there is one
SLACK = 2.0  # memory and first calls above what they may take by more than this factor have failed
RATIO_SLACK = (
    2.0  # ratios too: below half a goal, or what is half of it where a second thread gains less
)
SLOPE = 1.1
SLOPE_SLACK = 1.25
FIRST_CALLS = {"fit": 3.0, "predict": 3.0}  # processor seconds


@dataclass(frozen=True)
class Timing:
    """Seconds a call, medians; `times` is how many times faster we are, `spread` its range over the rounds."""

    workload: str
    about: str
    shape: tuple[int, int]
    operation: str
    theirs: float
    ours: float
    times: float
    spread: tuple[float, float]
    rounds: int
    target: float | None = None
    limit: float | None = None  # seconds, whatever scikit-learn takes
    against: str = "scikit-learn"
    gain: float = 2.0  # how much faster two threads were than one, meanwhile
    floor: float | None = (
        None  # less has failed, where half the target is out of reach on this kind of machine
    )

    @property
    def share(self) -> float | None:
        """How much of the goal is reached; 1 is all of it."""
        if self.target is not None:
            return self.times / self.target
        return None if self.limit is None else self.limit / self.ours

    @property
    def ok(self) -> bool | None:
        return None if self.share is None else self.share >= 1

    @property
    def failed(self) -> bool:
        """The goals are meant for two threads.

        Where a second one gains nothing, less is asked in proportion.
        """
        threads = min(1, self.gain / GAIN)
        if self.floor is not None:
            return self.times < self.floor * threads
        return self.share is not None and self.share < threads / RATIO_SLACK

    def __str__(self) -> str:
        goal = (
            f"{self.target:g} times"
            if self.target is not None
            else f"{1e6 * (self.limit or 0):g} µs"
        )
        return f"{self.workload} {self.operation}: {self.times:.2f} times faster, {1e6 * self.ours:.0f} µs; goal {goal}"


@dataclass(frozen=True)
class Agreement:
    """The largest difference of two probabilities, ours plugged in as scikit-learn plugs in."""

    workload: str
    rows: int
    difference: float
    tolerance: float

    @property
    def ok(self) -> bool:
        return self.difference <= self.tolerance

    @property
    def failed(self) -> bool:
        return not self.ok

    def __str__(self) -> str:
        return f"{self.workload}: probabilities differ by {self.difference:.1e}, tolerance {self.tolerance:.0e}"


@dataclass(frozen=True)
class Memory:
    """Bytes that a call needed at its peak above what was there before.

    None where that cannot be measured.
    """

    workload: str
    operation: str
    table: int
    theirs: int | None
    ours: int | None
    allowed: int

    @property
    def ok(self) -> bool | None:
        return None if self.ours is None else self.ours <= self.allowed

    @property
    def failed(self) -> bool:
        return self.ours is not None and self.ours > SLACK * self.allowed

    def __str__(self) -> str:
        return f"{self.workload} {self.operation}: {(self.ours or 0) / 1e6:.0f} MB, allowed {self.allowed / 1e6:.0f}"


@dataclass(frozen=True)
class Cost:
    """The processor's seconds a row, medians, as a multiple of something else of ours.

    `spread` over rounds.
    """

    workload: str
    about: str
    shape: tuple[int, int]
    operation: str
    against: str
    seconds: float
    other: float
    times: float
    spread: tuple[float, float]
    rounds: int
    most: float | None = None

    @property
    def ok(self) -> bool | None:
        return None if self.most is None else self.times <= self.most

    @property
    def failed(self) -> bool:
        return self.most is not None and self.times > RATIO_SLACK * self.most

    def __str__(self) -> str:
        return f"{self.workload} {self.operation}: {self.times:.2f} times {self.against}, at most {self.most}"


@dataclass(frozen=True)
class Start:
    """Processor seconds of a new process and of its first calls.

    `said` is what it printed on stderr, which is nothing.

    `goals` are what some of them may take.
    """

    family: str
    cache: str
    seconds: dict[str, float]
    said: str = ""
    goals: dict[str, float] = field(default_factory=lambda: dict(FIRST_CALLS))

    @property
    def worst(self) -> float:
        """The largest part of its goal that a call takes; 1 is all of it."""
        return max(self.seconds.get(call, float("inf")) / goal for call, goal in self.goals.items())

    @property
    def ok(self) -> bool:
        return not self.said and self.worst <= 1

    @property
    def failed(self) -> bool:
        return bool(self.said) or self.worst > SLACK

    def __str__(self) -> str:
        calls = (
            f"{call} {self.seconds.get(call, float('inf')):.1f} s, goal {goal:g}"
            for call, goal in self.goals.items()
        )
        return f"{self.family}, {self.cache} cache: {'; '.join(calls)}. {self.said}"


@dataclass(frozen=True)
class Scaling:
    """How our time and memory grow with rows, in one way to learn them, on so many threads or processes.

    Of each number of rows the seconds, and the bytes of all processes at their peaks; `slope` is
    that of log time.
    """

    workload: str
    way: str
    unit: str
    workers: int
    rows: list[int]
    seconds: list[float]
    bytes: list[int]
    slope: float
    most: int | None = None  # bytes

    @property
    def rates(self) -> list[float]:
        """Rows a second."""
        return [rows / seconds for rows, seconds in zip(self.rows, self.seconds, strict=True)]

    @property
    def ok(self) -> bool:
        return self.slope <= SLOPE and (self.most is None or max(self.bytes) <= self.most)

    @property
    def failed(self) -> bool:
        return self.slope > SLOPE_SLACK or (
            self.most is not None and max(self.bytes) > SLACK * self.most
        )

    def __str__(self) -> str:
        memory = f"{max(self.bytes) / 1e6:.0f} MB, at most {'any' if self.most is None else f'{self.most / 1e6:.0f}'}"
        return f"{self.workload} {self.way}, {self.workers}: slope {self.slope:.2f}, at most {SLOPE}; {memory}"


KINDS: dict[str, type] = {
    "timings": Timing,
    "agreements": Agreement,
    "memory": Memory,
    "costs": Cost,
    "starts": Start,
    "scalings": Scaling,
}

type Record = Timing | Agreement | Memory | Cost | Start | Scaling


@dataclass(frozen=True)
class Results:
    """Everything that a run found out, and where."""

    machine: dict[str, Any] = field(default_factory=dict)
    timings: list[Timing] = field(default_factory=list)
    agreements: list[Agreement] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    scalings: list[Scaling] = field(default_factory=list)

    @property
    def records(self) -> list[Record]:
        """Records of all kinds."""
        return [record for name in KINDS for record in getattr(self, name)]

    @property
    def misses(self) -> list[str]:
        """What missed its goal."""
        return [str(record) for record in self.records if record.ok is False]

    @property
    def failures(self) -> list[str]:
        """What missed its goal, and by far."""
        return [str(record) for record in self.records if record.failed]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        said = json.loads(text)
        lists = {
            name: [kind(**entry) for entry in said.get(name, [])] for name, kind in KINDS.items()
        }
        return cls(said["machine"], **lists)
