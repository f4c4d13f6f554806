"""One shared case, as its folder describes it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tests.servers.faults import Json

HERE = Path(__file__).parent
FOLDERS = (HERE / "shared", HERE / "own")  # what was given, and what was learned since


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A situation: what is served, what is done, and what subscribers then see."""

    id: str
    kind: str
    now: datetime
    steps: tuple[Json, ...]
    checks: tuple[Json, ...]
    folder: Path

    def checks_after(self, step: int) -> list[Json]:
        return [check for check in self.checks if self._place(check) == step]

    def _place(self, check: Json) -> int:
        """A digest of the night to come is looked for after that night."""
        after = int(check["after_step"])
        following = self.steps[after] if after < len(self.steps) else {}
        return after + 1 if str(following.get("to", "")).startswith("run from") else after

    def bytes_of(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def json_of(self, name: str) -> object:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))


def read_case(file: Path) -> Case:
    raw = json.loads(file.read_text(encoding="utf-8"))
    return Case(
        id=raw["id"],
        kind=raw["kind"],
        now=datetime.fromisoformat(raw["now"]),
        steps=tuple(raw["steps"]),
        checks=tuple(raw.get("check", ())),
        folder=file.parent,
    )


def all_cases() -> list[Case]:
    """Return the cases of the project, or of the folder that FEEDBELL_CASES names."""
    named = os.environ.get("FEEDBELL_CASES")
    folders = (Path(named),) if named else FOLDERS
    found = [read_case(file) for folder in folders for file in sorted(folder.glob("*/case.json"))]
    if not found:
        raise FileNotFoundError(f"no cases in {folders}")
    return found
