"""Write what an installation consists of, as CycloneDX 1.6: `python deploy/sbom.py requirements.lock > sbom.json`.

Standard library only, and nothing in it that changes from build to build: the same lock gives the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)((?:.*\\\n)*.*)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def main(lock: str) -> None:
    """Print the bill of materials of what `lock` pins."""
    text = Path(lock).read_text(encoding="utf-8")
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "feedbell"}},
        "components": [component(*found) for found in _PIN.findall(text)],
    }
    sys.stdout.write(json.dumps(bill, indent=1, sort_keys=True) + "\n")


def component(name: str, version: str, rest: str) -> dict[str, object]:
    """Return one package: any of its files that the lock allows, and its licence in its own words."""
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "licenses": [{"license": {"name": licence(name)}}],
        "properties": [{"name": "sha256", "value": digest} for digest in sorted(_HASH.findall(rest))],
    }


def licence(name: str) -> str:
    """Return the licence that a package's metadata names; "unknown" for one that is not for this Python."""
    try:
        about = metadata(name).json
    except PackageNotFoundError:
        return "unknown"
    said = str(about.get("license_expression") or about.get("license") or "").strip().partition("\n")[0]
    classes = [str(line).rpartition("::")[2].strip() for line in about.get("classifier", ()) if "License ::" in line]
    return said or ", ".join(classes) or "unknown"


if __name__ == "__main__":
    main(sys.argv[1])
