"""What comes from others: licences that allow what we do, and a bill of materials that names all of it (T26)."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from types import ModuleType

import pytest

from tests.test_architecture import ROOT

LOCK = ROOT / "requirements.lock"
FAMILIES = {  # the first that fits; a licence that fits none is a decision to be made
    "LGPL-3.0": r"LGPL-3\.0",
    "Apache-2.0": r"Apache(-| Software License| )?2?",
    "BSD": r"BSD",
    "PSF-2.0": r"PSF-2\.0|Python Software Foundation",
    "MIT": r"\bMIT\b",
}
ONLY_ON_OTHER_PYTHONS = {"audioop-lts"}  # PSF-2.0; discord.py needs it from 3.13 on


def bill_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "deploy" / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def locked() -> list[str]:
    return re.findall(r"^([\w.-]+)==", LOCK.read_text(encoding="utf-8"), re.MULTILINE)


def family_of(licence: str) -> str:
    return next((family for family, form in FAMILIES.items() if re.search(form, licence)), licence)


def test_every_runtime_package_has_a_licence_that_the_documents_name() -> None:
    read = bill_module().licence
    table = (ROOT / "docs" / "security.md").read_text(encoding="utf-8").partition("## Licences")[2]
    rows = re.findall(r"^\| ([\w.-]+) \| (.+) \|$", table, re.MULTILINE)
    documented = {name: family for family, names in rows for name in re.findall(r"[\w.-]+", names)}
    missing = {name for name in locked() if read(name) == "unknown"}
    assert missing <= ONLY_ON_OTHER_PYTHONS
    found = {name: family_of(read(name)) for name in locked() if name not in missing}
    assert set(found.values()) <= set(FAMILIES)
    assert {name: documented.get(name) for name in found} == found


def test_the_bill_of_materials_names_every_package_with_its_hashes_and_is_the_same_each_time() -> None:
    command = [sys.executable, str(ROOT / "deploy" / "sbom.py"), str(LOCK)]
    first, second = (subprocess.run(command, check=True, capture_output=True).stdout for _ in range(2))
    assert first == second
    components = json.loads(first)["components"]
    assert [each["name"] for each in components] == locked()
    assert all(each["properties"] for each in components)


@pytest.mark.parametrize("hook", ["setup.py", "conftest.py", "sitecustomize.py"])
def test_nothing_of_ours_runs_when_it_is_installed(hook: str) -> None:
    assert not (ROOT / hook).exists()
