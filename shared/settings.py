"""One YAML file and the environment become one frozen pydantic model, once, at the start.

``SHUNTYARD__SECTION__KEY`` wins over the file. An error lists every mistake, each with the path of
the field, where it was set, and what was expected.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Protocol, Self, TypeVar, cast, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic_core import ErrorDetails

from shared.errors import SettingsError
from shared.logs import Format, Level
from shared.parameters import Declaration, declarations

PREFIX: Final = "SHUNTYARD__"
_UNKNOWN: Final = {"extra_forbidden", "unexpected_keyword_argument"}
_NO_SECTION: Final = {"model_type", "dataclass_type"}


Settings = TypeVar("Settings", bound=BaseModel)


SectionType = TypeVar("SectionType", bound="Section")


class DataclassInstance(Protocol):
    """An instance of any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


Parameters = TypeVar("Parameters", bound=DataclassInstance)


Path_ = tuple[str, ...]


class Part:
    """What a section takes of a class of parameters (``shared.parameters``).

    Attributes:
        parameters: The class.
        declared: The declarations that are taken, by key in the file.
        preset: Key of the field that names a preset; empty: there is none.
        optional: Fields that need no value, because the preset has one.
    """

    def __init__(
        self,
        parameters: type,
        *,
        only: Collection[str] | None = None,
        keys: Mapping[str, str] | None = None,
        preset: str = "",
        optional: Collection[str] = (),
    ) -> None:
        """Choose fields.

        Args:
            parameters: A dataclass; all its fields have defaults.
            only: The fields that are taken; None: all that are declared.
            keys: Their keys in the file, where these differ from the names.
            preset: See above.
            optional: See above.
        """
        self.parameters, self.preset, self.optional = parameters, preset, frozenset(optional)
        self.declared = {
            (keys or {}).get(declared.name, declared.name): declared
            for declared in declarations(parameters)
            if only is None or declared.name in only
        }

    def field(self, declared: Declaration) -> Any:
        """Return the type and pydantic's field of a declaration."""
        kind, default, description = declared.type, declared.default, declared.description
        if declared.name in self.optional:
            kind, default = kind | None, None
            description = f"{description} No value: as `{self.preset}` says."
        for limit in declared.limits:
            kind = Annotated[kind, limit]
        return kind, Field(default=default, description=description)


class Section(BaseModel):
    """A part of a settings file: frozen; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    parts: ClassVar[tuple[Part, ...]] = ()

    def preset_values(self) -> object:
        """Return the parameters whose values count where an optional field has none."""
        raise NotImplementedError

    def applied_to(self, parameters: Parameters) -> Parameters:
        """Return the parameters with this section's values in place of theirs."""
        values = {}
        for part in self.parts:
            if not isinstance(parameters, part.parameters):
                continue
            for key, declared in part.declared.items():
                value = getattr(self, key)
                if value is None and declared.name in part.optional:
                    value = getattr(self.preset_values(), declared.name)
                values[declared.name] = value
        return dataclasses.replace(parameters, **values)

    @model_validator(mode="before")
    @classmethod
    def _may_be_empty(cls, value: Any) -> Any:
        """Take a section whose fields are all commented out, which YAML reads as null."""
        return {} if value is None else value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        """Build the parameters, which check what concerns several fields."""
        for part in self.parts:
            self.applied_to(part.parameters())
        return self


def takes(*parts: Part) -> Callable[[type[SectionType]], type[SectionType]]:
    """Return a class decorator that adds the fields of parameters to a section."""

    def build(section: type[SectionType]) -> type[SectionType]:
        fields = {
            key: part.field(declared) for part in parts for key, declared in part.declared.items()
        }
        section.parts = parts
        taken = create_model(f"{section.__name__}Parameters", __base__=Section, **fields)
        # the fields of the last one come first; a preset comes before what it gives
        bases = (taken, section) if any(part.preset for part in parts) else (section, taken)
        made = create_model(
            section.__name__,
            __base__=bases,
            __module__=section.__module__,
            __doc__=section.__doc__,
        )
        return cast("type[SectionType]", made)

    return build


def listed(value: object) -> object:
    """Split a text at its commas, as it is in the environment."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def fill(parameters: Parameters, sections: Sequence[Section]) -> Parameters:
    """Return the parameters, and those inside them, with the values of the sections."""
    for section in sections:
        parameters = section.applied_to(parameters)
    inner = {
        field.name: fill(value, sections)
        for field in dataclasses.fields(parameters)
        if dataclasses.is_dataclass(value := getattr(parameters, field.name))
        and not isinstance(value, type)
    }
    return dataclasses.replace(parameters, **inner)


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
        problems = [_explain(e, model, variables) for e in error.errors(include_url=False)]
        where = f"settings ({file})" if file else "settings"
        raise SettingsError("\n".join([f"{where} cannot be used:", *problems])) from None


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
        sections = yaml.safe_load(file.read_text())
    except OSError as error:
        raise SettingsError(f"settings file {file}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {file} is not YAML: {error}") from error
    if sections is None:
        return {}
    if not isinstance(sections, dict):
        raise SettingsError(f"settings file {file}: expected sections, found {sections!r}")
    return sections


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
    field, given = ".".join(path), repr(error["input"])
    where = f" (from {variables[path][0]})" if path in variables else ""
    if error["type"] in _UNKNOWN:
        fields = ", ".join(_known(model, path[:-1]))
        return f"  {field}{where}: there is no such field; known here: {fields}"
    if error["type"] == "value_error":
        text = error["msg"].removeprefix("Value error, ")
        return f"  {field}{where}: {text}" if path else f"  {text}"
    expected = error["msg"].replace("Input should be", "expected", 1)
    if error["type"] in _NO_SECTION:
        expected = "expected a section"
    return f"  {field}{where}: {expected}, found {given}"


def _known(model: type[BaseModel], path: Path_) -> list[str]:
    """Return the keys of a section, or of one item of a list in it."""
    inner: Any = model
    for name in path:
        if name.isdigit():
            (inner, *_) = get_args(inner)
        else:
            inner = inner.model_fields[name].annotation
    if dataclasses.is_dataclass(inner):
        return [field.name for field in dataclasses.fields(inner)]
    return list(inner.model_fields)


class LoggingSection(Section):
    """The log on standard error."""

    level: Level = Field(
        default=Level.INFO,
        description="`info`: what changed; `warning`: trouble that mends itself; `error`: a "
        "person must look; `debug`: every request.",
    )
    format: Format = Field(
        default=Format.JSON, description="`json`: one object a line; `text`: for people."
    )


class HealthSection(Section):
    """When the program counts as dead."""

    loop_max_age_seconds: float = Field(
        default=60.0,
        ge=1,
        le=3600,
        description="A loop that gave no sign of life for longer makes `/livez` fail.",
    )
