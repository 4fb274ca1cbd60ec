"""Programs that others have built: in SHUNTYARD_ASSETS, in envtest's folder, or in PATH.

A program is asked for its version before it is used. What the user named must fit, else it is an
error; what merely lies on the machine and does not fit is passed over with a line.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from devcluster.errors import AssetsError
from devcluster.programs.versions import Binary

GIVEN: Final = "SHUNTYARD_ASSETS"
ENVTEST: Final = "KUBEBUILDER_ASSETS"
_ENVTEST_STORE: Final = Path("kubebuilder-envtest/k8s")
"""Where setup-envtest keeps what it downloads, below XDG_DATA_HOME; a folder for each version."""
_CHECK_SECONDS: Final = 30.0

Report = Callable[[str], None]


def reported_version(binary: Binary, file: Path) -> str:
    """Return the version that a program reports about itself.

    Raises:
        AssetsError: It cannot be run, or prints nothing that looks like a version.
    """
    try:
        done = subprocess.run(
            [file, *binary.asked],
            capture_output=True,
            text=True,
            check=False,
            timeout=_CHECK_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AssetsError(f"{file} cannot be run ({error}); expected {binary.wanted}") from error
    match = binary.pattern.search(done.stdout + done.stderr)
    if match is None:
        asked = " ".join(binary.asked)
        raise AssetsError(f"{file} {asked} does not name a version; expected {binary.wanted}")
    return match[1]


def check(binary: Binary, file: Path) -> None:
    """Make sure that a file is the program, in exactly the version that we build.

    Raises:
        AssetsError: It is not; the message names the file and what was expected.
    """
    version = reported_version(binary, file)
    if version != binary.version:
        raise AssetsError(f"{file} is version {version}; expected {binary.name} {binary.version}")


def given(
    binaries: Sequence[Binary], environ: Mapping[str, str], report: Report
) -> dict[str, Path]:
    """Return the programs in the directory that SHUNTYARD_ASSETS names.

    Raises:
        AssetsError: It is no directory, or a program in it does not fit.
    """
    directory = environ.get(GIVEN)
    if not directory:
        return {}
    if not Path(directory).is_dir():
        raise AssetsError(f"{GIVEN}={directory} is not a directory")
    present = [binary for binary in binaries if (Path(directory) / binary.name).exists()]
    files = [Path(directory) / binary.name for binary in present]
    with ThreadPoolExecutor() as pool:
        versions = list(pool.map(_fitting, present, files))
    for binary, file, version in zip(present, files, versions, strict=True):
        report(_taken(binary, version, file, GIVEN))
    return dict(zip([binary.name for binary in present], files, strict=True))


def installed(
    binaries: Sequence[Binary], environ: Mapping[str, str], report: Report
) -> dict[str, Path]:
    """Return official programs that lie on the machine, of the right minor version.

    Args:
        binaries: What is wanted; those that have no official build are not looked for.
        environ: Holds KUBEBUILDER_ASSETS, HOME, XDG_DATA_HOME and PATH.
        report: Takes a line for each program that is used, or that does not fit.
    """
    found = {}
    for binary in binaries:
        for place, file in _candidates(binary, environ) if binary.official else ():
            try:
                version = _fitting(binary, file)
            except AssetsError as error:
                report(f"{error}; not used")
                continue
            report(_taken(binary, version, file, place))
            found[binary.name] = file
            break
    return found


def _candidates(binary: Binary, environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    for place, folder in _envtest(environ):
        if (folder / binary.name).exists():
            yield place, folder / binary.name
    on_path = shutil.which(binary.name, path=environ.get("PATH", ""))
    if on_path is not None:
        yield "PATH", Path(on_path)


def _envtest(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield the folder that envtest's variable names; without it those of setup-envtest."""
    if environ.get(ENVTEST):
        yield ENVTEST, Path(environ[ENVTEST])
        return
    home = environ.get("HOME")
    data = environ.get("XDG_DATA_HOME") or (f"{home}/.local/share" if home else "")
    if data:
        for folder in sorted((Path(data) / _ENVTEST_STORE).glob("*"), reverse=True):
            yield "setup-envtest", folder


def _fitting(binary: Binary, file: Path) -> str:
    """Return the version of a program that can be used in place of ours.

    Raises:
        AssetsError: It cannot; the message names the file and what was expected.
    """
    version = reported_version(binary, file)
    if not binary.serves(version):
        raise AssetsError(f"{file} is version {version}; expected {binary.wanted}")
    return version


def _taken(binary: Binary, version: str, file: Path, place: str) -> str:
    return f"using {binary.name} {version} from {place}: {file}"
