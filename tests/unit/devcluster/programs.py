"""Scripts that stand in for the programs that the devcluster starts, finds or builds with."""

from pathlib import Path

VERSION_LINES = {
    "etcd": "etcd Version: 3.6.14",
    "kube-apiserver": "Kubernetes v1.36.3",
    "kube-controller-manager": "Kubernetes v1.36.3",
    "kube-scheduler": "Kubernetes v1.36.3",
    "kwok": "kwok version v0.8.0 go1.26.8 (linux/amd64)",
}


def write_program(file: Path, version_line: str, otherwise: str = "exit 0") -> Path:
    """Write a program that answers ``--version`` and does ``otherwise`` when it is started."""
    return write_script(
        file, f'if [ "$1" = --version ]; then echo "{version_line}"; exit 0; fi\n{otherwise}'
    )


def write_script(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


GO = """
[ "$1" = env ] && { echo %(version)s; exit 0; }
while [ "$1" != -o ]; do shift; done
name=$(basename "$2")
echo "go: building $name"
echo "$name" >> %(built)s
[ "$name" = "%(fails)s" ] && { echo "cannot find module"; exit 1; }
case "$name" in
  etcd) line="etcd Version: 3.6.14" ;;
  kwok) line="kwok version v0.8.0 (x)" ;;
  *) line="Kubernetes v1.36.3" ;;
esac
printf '#!/bin/sh\\necho "%%s"\\n' "$line" > "$2"
chmod +x "$2"
"""


def write_go(directory: Path, built: Path, *, version: str = "go1.26.8", fails: str = "") -> Path:
    """Write a Go toolchain that notes in ``built`` what it was asked for, and makes scripts."""
    values = {"version": version, "built": built, "fails": fails}
    return write_script(directory / "go", GO % values)
