"""Every door that is fuzzed, by name."""

from tests.fuzz import documents, people
from tests.fuzz.mutations import Target

TARGETS: dict[str, Target] = {target.name: target for target in (*documents.TARGETS, *people.TARGETS)}
