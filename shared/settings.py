"""One YAML file and the environment become one frozen pydantic model; read once, at the start.

``SHUNTYARD__SECTION__KEY`` wins over the file. What is wrong is said with the path of the field,
where it was set, and what was expected; every mistake at once.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from shared.errors import SettingsError

PREFIX: Final = "SHUNTYARD__"

Settings = TypeVar("Settings", bound=BaseModel)
Path_ = tuple[str, ...]


class Section(BaseModel):
    """A part of a settings file: frozen, and a key it does not know is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    @model_validator(mode="before")
    @classmethod
    def _may_be_empty(cls, found: Any) -> Any:
        """Take a section whose fields are all commented out, which YAML reads as null."""
        return {} if found is None else found


def bounded(
    parameters: type, bounds: Mapping[str, tuple[float, float]], name: str, description: str
) -> Any:
    """Return the field for one number of a rule, with the rule's own default and bounds."""
    least, most = bounds[name]
    return Field(default=getattr(parameters, name), ge=least, le=most, description=description)


def load(model: type[Settings], file: Path | None, environ: Mapping[str, str]) -> Settings:
    """Return the settings out of ``file`` (None: defaults only) and ``environ``.

    In the environment an empty value is as if the variable were not set, and ``null`` is no value.

    Raises:
        SettingsError: The file or a value cannot be used.
    """
    values = _read(file) if file else {}
    variables = dict(_variables(environ))
    for path, (name, text) in variables.items():
        _put(values, path, None if text == "null" else text, name)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        found = [_explain(e, model, variables) for e in error.errors(include_url=False)]
        where = f"settings ({file})" if file else "settings"
        raise SettingsError("\n".join([f"{where} cannot be used:", *found])) from None


def dump(settings: BaseModel) -> str:
    """Return the settings as the YAML file that would give them."""
    return yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False)


def fields(model: type[BaseModel], path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Yield the path and pydantic's ``FieldInfo`` of every setting, sections first to last."""
    for name, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from fields(info.annotation, (*path, name))
        else:
            yield (*path, name), info


def variable(path: Path_) -> str:
    """Return the name of the environment variable that sets the field at ``path``."""
    return PREFIX + "__".join(path).upper()


def _read(file: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(file.read_text())
    except OSError as error:
        raise SettingsError(f"settings file {file}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {file} is not YAML: {error}") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise SettingsError(f"settings file {file}: expected sections, found {found!r}")
    return found


def _variables(environ: Mapping[str, str]) -> Iterator[tuple[Path_, tuple[str, str]]]:
    for name, text in sorted(environ.items()):
        if name.startswith(PREFIX) and text:
            yield tuple(name.removeprefix(PREFIX).lower().split("__")), (name, text)


def _put(values: dict[str, Any], path: Path_, value: str | None, name: str) -> None:
    for key in path[:-1]:
        inner = values.setdefault(key, {})
        if inner is None:
            inner = values[key] = {}
        if not isinstance(inner, dict):
            raise SettingsError(f"{name}: {key} is {inner!r} in the file, expected a section")
        values = inner
    values[path[-1]] = value


def _explain(
    error: ErrorDetails, model: type[BaseModel], variables: Mapping[Path_, tuple[str, str]]
) -> str:
    path = tuple(str(part) for part in error["loc"])
    field, found = ".".join(path), repr(error["input"])
    where = f" (from {variables[path][0]})" if path in variables else ""
    if error["type"] == "extra_forbidden":
        known = ", ".join(_known(model, path[:-1]))
        return f"  {field}{where}: there is no such field; known here: {known}"
    if error["type"] == "value_error":
        text = error["msg"].removeprefix("Value error, ")
        return f"  {field}{where}: {text}" if path else f"  {text}"
    expected = error["msg"].replace("Input should be", "expected", 1)
    if error["type"] == "model_type":
        expected = "expected a section"
    return f"  {field}{where}: {expected}, found {found}"


def _known(model: type[BaseModel], path: Path_) -> list[str]:
    for name in path:
        inner = model.model_fields[name].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return list(model.model_fields)
