"""Targets of benchmark rows: relative to PyTorch, relative to the raw driver, or absolute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

NAMES = {"torch": "PyTorch", "raw": "raw driver"}


class Goal(NamedTuple):
    """At most, or at least, `factor` times the median of side `of`, plus `plus`; `factor` alone where `of` is empty."""

    factor: float
    of: str
    is_least: bool = False
    plus: float = 0.0

    def bound(self, figures: Mapping[str, Any]) -> float | None:
        """The figure to reach, or None if the side that it hangs on was not measured."""
        if not self.of:
            return self.factor
        return self.factor * float(figures[self.of]["median"]) + self.plus if self.of in figures else None

    def distance(self, figures: Mapping[str, Any]) -> float | None:
        """How far from the goal: 1 is just met, more is missed."""
        bound, found = self.bound(figures), float(figures["flambeau"]["median"])
        if bound is None:
            return None
        return bound / found if self.is_least else found / bound

    def text(self, unit: str) -> str:
        sign = "≥" if self.is_least else "≤"
        if not self.of:
            return f"{sign} {self.factor:g} {unit}"
        if self.plus:
            times = "" if self.factor == 1 else f"{self.factor:g} × "
            return f"{sign} {times}{NAMES[self.of]} + {self.plus:g} {unit}"
        return f"{sign} {self.factor:g} × {NAMES[self.of]}"


def at_most(factor: float, of: str = "torch", plus: float = 0.0) -> Goal:
    """For times."""
    return Goal(factor, of, plus=plus)


def at_least(factor: float, of: str = "torch") -> Goal:
    """For rates."""
    return Goal(factor, of, is_least=True)


def judged(goals: tuple[Goal, ...], figures: Mapping[str, Any], unit: str) -> dict[str, Any]:
    """The derived fields of a row: ratio to PyTorch or else to the raw driver, goals, distance and verdict."""
    rival = next((side for side in NAMES if side in figures), None)
    distances = [goal.distance(figures) for goal in goals]
    known = [each for each in distances if each is not None]
    found: dict[str, Any] = {"target": " and ".join(goal.text(unit) for goal in goals)}
    if rival:
        found |= {"ratio": figures["flambeau"]["median"] / figures[rival]["median"], "ratio to": NAMES[rival]}
    if len(known) == len(goals) and goals:
        found |= {"distance": max(known), "verdict": "met" if max(known) <= 1 else "missed"}
    return found
