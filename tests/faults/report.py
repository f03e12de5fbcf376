"""What a broken run left behind, what was wrong with it, and the report over many of them."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.promises import tell

from .tracer import Traced

TRACEBACK = "Traceback (most recent call last)"
SHOWN = 10
FIGURES = {
    **dict.fromkeys(("kill", "torn", "one"), "kill points"),
    **dict.fromkeys(("drop", "log", "flush"), "power cuts"),
    "short": "short writes",
}


@dataclass(frozen=True)
class Outcome:
    """One run with one fault, as a check sees it. `returncode` is None when the command hung and had to be killed."""

    directory: Path
    mode: str
    point: int
    call: str
    returncode: int | None
    stdout: str
    stderr: str
    killed: bool

    @classmethod
    def of(cls, traced: Traced, directory: Path, *, mode: str, point: int, call: str) -> Outcome:
        return cls(
            directory=directory,
            mode=mode,
            point=point,
            call=call,
            returncode=traced.returncode,
            stdout=traced.stdout,
            stderr=traced.stderr,
            killed=traced.killed,
        )

    def acknowledged(self) -> bool:
        """The command said that it had done its work, by its end or by its result, so the work has to be there."""
        return self.returncode == 0 or self.stdout.strip() != ""


Check = Callable[[Outcome], None]


@dataclass(frozen=True)
class Trial:
    """An outcome, whether the fault really took place, and the reasons to complain."""

    outcome: Outcome
    struck: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Violation:
    mode: str
    point: int
    call: str
    why: str

    @classmethod
    def of(cls, trial: Trial) -> Violation:
        return cls(trial.outcome.mode, trial.outcome.point, trial.outcome.call, "; ".join(trial.reasons))

    def __str__(self) -> str:
        return f"{self.mode} at call {self.point} ({self.call}): {self.why}"


@dataclass(frozen=True)
class Report:
    """`counts` are the runs per mode in which the fault took place. `missed` are those in which it did not, because
    processes that race with each other made fewer calls this time; they are checked, but prove nothing."""

    calls: int
    counts: Mapping[str, int]
    missed: Mapping[str, int]
    violations: tuple[Violation, ...]
    seed: int

    @classmethod
    def over(cls, trials: Sequence[Trial], modes: Sequence[str], calls: int, seed: int) -> Report:
        struck = Counter(trial.outcome.mode for trial in trials if trial.struck)
        missed = Counter(trial.outcome.mode for trial in trials if not trial.struck)
        return cls(
            calls=calls,
            counts={mode: struck[mode] for mode in modes},
            missed={mode: missed[mode] for mode in modes},
            violations=tuple(Violation.of(trial) for trial in trials if trial.reasons),
            seed=seed,
        )

    @property
    def runs(self) -> int:
        return sum(self.counts.values())

    def summary(self) -> str:
        modes = ", ".join(f"{mode} {count}" for mode, count in self.counts.items())
        missed = f", {sum(self.missed.values())} missed" if any(self.missed.values()) else ""
        return f"{self.runs} faults over {self.calls} calls ({modes}{missed}; seed {self.seed})"

    def assert_clean(self) -> None:
        if self.runs == 0:
            raise AssertionError(f"nothing was tried: {self.summary()}")
        if self.violations:
            raise AssertionError(self._complaint())
        for mode, count in self.counts.items():
            tell(FIGURES.get(mode, "failed calls"), count)
        tell("seed", self.seed)

    def _complaint(self) -> str:
        lines = [f"{len(self.violations)} violations in {self.summary()}"]
        lines += [f"  {violation}" for violation in self.violations[:SHOWN]]
        if len(self.violations) > SHOWN:
            lines.append(f"  and {len(self.violations) - SHOWN} more")
        return "\n".join(lines)


def find_violations(check: Check, outcome: Outcome) -> list[str]:
    """Why the check is not content; empty if it is.

    A check that fails otherwise than by an assertion, say by parsing a torn file, is not content either.
    """
    try:
        check(outcome)
    except AssertionError as error:
        return [_first_line(str(error)) or _failed_line(error)]
    except Exception as error:
        return [_first_line(f"{type(error).__name__}: {error}")]
    return []


def _first_line(message: str) -> str:
    # pytest adds a page of explanation below.
    return message.strip().partition("\n")[0]


def _failed_line(error: AssertionError) -> str:
    # A bare `assert` has no message unless pytest has rewritten the module, which a worker process does not do.
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return frame.line or f"{frame.filename}:{frame.lineno}"


def spread(candidates: Sequence[int], limit: int | None, seed: int, mode: str) -> list[int]:
    """At most `limit` of them: the first, the last, and one at random from each of the equal stretches between.

    Each mode gets a sample of its own, so that together they see more.
    """
    if limit is not None and limit < 2:
        raise ValueError(f"points must be at least 2, to include the first and the last call; not {limit}")
    if limit is None or len(candidates) <= limit:
        return list(candidates)
    inner, stretches = candidates[1:-1], limit - 2
    bounds = [len(inner) * i // stretches for i in range(stretches + 1)] if stretches else []
    chance = random.Random(f"{seed} {mode}")
    chosen = [inner[chance.randrange(low, high)] for low, high in pairwise(bounds)]
    return [candidates[0], *chosen, candidates[-1]]
