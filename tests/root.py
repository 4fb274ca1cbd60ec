"""The repository's folder, for tests that read files of it."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
