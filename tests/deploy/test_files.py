"""Each file of deploy/ is judged by the tool that will read it; where that is not installed, the test says so."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.config.sources import known_names

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = ["compose.yaml", "compose.postgres.yaml"]
KUSTOMIZATIONS = ["kubernetes", "kubernetes/postgres"]
# Least exposed is 0, most 10. What is left: it talks to any address on the internet.
EXPOSURE = 20  # tenths


def program(name: str) -> str:
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def well(*command: str, cwd: Path = ROOT, stdin: str | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def text_of(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


# --- compose ---------------------------------------------------------------------------------------------------------


def compose() -> list[str]:
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "compose", "version"], check=False, capture_output=True).returncode == 0:
        return [docker, "compose"]
    return [program("podman-compose")]


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_reads_it(name: str) -> None:
    found = compose()
    base = [] if found[0].endswith("podman-compose") else ["--project-directory", str(ROOT)]
    assert "feedbell" in well(*found, "-f", str(DEPLOY / name), *base, "config")


@pytest.mark.parametrize("name", COMPOSE)
def test_a_container_can_do_no_more_than_it_needs(name: str) -> None:
    text = text_of(name)
    wanted = [
        'user: "65532:65532"',
        "read_only: true",
        "cap_drop: [ALL]",
        "no-new-privileges:true",
        "/tmp:size=64m",
        "mem_limit: 256m",
        "pids_limit:",
        "init: true",
        "stop_grace_period: 30s",
        "./config:/config:ro",
        "./secrets:/run/secrets:ro",
    ]
    assert [line for line in wanted if line not in text] == []
    assert "privileged: true" not in text


# --- Kubernetes ------------------------------------------------------------------------------------------------------


def manifests(folder: str) -> str:
    """Return what kustomize makes of a folder; kubectl has kustomize within."""
    if kustomize := shutil.which("kustomize"):
        return well(kustomize, "build", str(DEPLOY / folder))
    return well(program("kubectl"), "kustomize", str(DEPLOY / folder))


@pytest.mark.parametrize("folder", KUSTOMIZATIONS)
def test_kustomize_builds_it(folder: str) -> None:
    text = manifests(folder)
    wanted = [
        "enableServiceLinks: false",
        "automountServiceAccountToken: false",
        "readOnlyRootFilesystem: true",
        "runAsNonRoot: true",
        "runAsUser: 65532",
        "allowPrivilegeEscalation: false",
        "type: RuntimeDefault",
        "memory: 256Mi",
    ]
    assert [line for line in wanted if line not in text] == []
    assert re.search(r"livenessProbe:\s+failureThreshold: 3\s+httpGet:\s+path: /healthz", text)
    assert re.search(r"readinessProbe:\s+httpGet:\s+path: /readyz", text)


@pytest.mark.parametrize("folder", KUSTOMIZATIONS)
def test_kubernetes_knows_every_field(folder: str) -> None:
    validate = program("kubernetes-validate")
    well(validate, "--strict", "-", stdin=manifests(folder))


def test_replicas_share_a_postgresql_and_a_single_one_keeps_its_file() -> None:
    one, three = manifests("kubernetes"), manifests("kubernetes/postgres")
    assert "replicas: 1" in one
    assert "value: sqlite:////data/feedbell.db" in one
    assert "replicas: 3" in three
    assert "sqlite" not in three
    assert "volumeClaimTemplates" not in three


# --- systemd ---------------------------------------------------------------------------------------------------------


def unit(folder: Path) -> Path:
    """Return the unit with a program that exists on this machine."""
    text = text_of("systemd/feedbell.service")
    text = text.replace("ExecStart=/opt/feedbell/.venv/bin/feedbell", f"ExecStart={shutil.which('true')}")
    path = folder / "feedbell.service"
    path.write_text(text, encoding="utf-8")
    return path


def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    complaints = well(program("systemd-analyze"), "verify", "--man=no", str(unit(tmp_path)))
    assert "feedbell.service" not in complaints


def test_the_unit_is_exposed_little(tmp_path: Path) -> None:
    analyze = program("systemd-analyze")
    if "--threshold" not in well(analyze, "--help"):
        pytest.skip("this systemd-analyze judges no files")
    well(analyze, "security", "--offline=true", f"--threshold={EXPOSURE}", str(unit(tmp_path)))


def test_the_unit_takes_secrets_as_credentials_and_stays_down_when_the_configuration_is_wrong() -> None:
    text = text_of("systemd/feedbell.service")
    assert "LoadCredential=feedbell:/etc/feedbell/secrets" in text
    assert "RestartPreventExitStatus=78" in text
    assert "ExecReload=/bin/kill -HUP $MAINPID" in text


# --- the rest --------------------------------------------------------------------------------------------------------


def test_every_variable_that_is_named_there_is_one_of_ours() -> None:
    files = [path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix != ".json"]
    used = {
        name
        for path in [*files, ROOT / "Dockerfile"]
        for name in re.findall(r"\bFEEDBELL_[A-Z_]+", path.read_text(encoding="utf-8"))
    }
    known = {*known_names(), "FEEDBELL_CONFIG", "FEEDBELL_PORT"}
    assert {name for name in used if name.removesuffix("_FILE") not in known} == set()


def test_nginx_reads_the_example(tmp_path: Path) -> None:
    nginx, openssl = program("nginx"), program("openssl")
    key, cert = tmp_path / "key", tmp_path / "cert"
    subject = ["-subj", "/CN=bell.example.org", "-keyout", str(key), "-out", str(cert)]
    well(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *subject)
    example = text_of("reverse-proxy/nginx.conf")
    example = example.replace("/etc/ssl/private/bell.example.org.key", str(key))
    example = example.replace("/etc/ssl/bell.example.org.pem", str(cert))
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{example}\n}}\n")
    well(nginx, "-t", "-q", "-p", str(tmp_path), "-e", str(tmp_path / "log"), "-c", str(tmp_path / "nginx.conf"))


def test_caddy_reads_the_example() -> None:
    well(program("caddy"), "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "reverse-proxy/Caddyfile"))


def test_the_slack_manifest_asks_for_what_the_bot_uses() -> None:
    text = text_of("slack-manifest.yaml")
    scopes = ["chat:write", "commands", "channels:read", "channels:history", "groups:read", "groups:history"]
    assert [scope for scope in scopes if scope not in text] == []
    assert "socket_mode_enabled: true" in text


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    findings = well(program("hadolint"), "--no-fail", "--format", "json", str(ROOT / "Dockerfile"))
    assert [one for one in json.loads(findings) if one["level"] in ("error", "warning")] == []
