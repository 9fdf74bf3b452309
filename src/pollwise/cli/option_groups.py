"""Options that belong together, as one parameter of the command: a NamedTuple of them.

    @with_groups
    def watch(urls: Urls = None, *, fetching: FetchingOptions, log: Log = "text") -> None: ...

The command line has the options of the group in its place, in the order of the fields.
"""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

__all__ = ["names_of", "with_groups"]


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Decorates a command: typer sees options where it has parameters that are groups."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        each.name: each.annotation
        for each in signature.parameters.values()
        if _is_group(each.annotation)
    }
    flat = signature.replace(parameters=list(_options(signature)))

    def called(*given: Any, **named: Any) -> None:
        bound = flat.bind(*given, **named)
        bound.apply_defaults()
        values = bound.arguments
        for name, group in groups.items():
            values[name] = group(**{option: values.pop(option) for option in names_of(group)})
        command(**values)

    seen: Any = called
    seen.__signature__ = flat
    seen.__annotations__ = {name: each.annotation for name, each in flat.parameters.items()}
    seen.__name__, seen.__doc__ = command.__name__, command.__doc__
    return called


def names_of(group: Any) -> tuple[str, ...]:
    """The parameters of a command that the options of a group are."""
    names: tuple[str, ...] = group._fields
    return names


def _is_group(annotation: object) -> bool:
    return isinstance(annotation, type) and hasattr(annotation, "_fields")


def _options(signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    """The parameters with those of groups in their places."""
    for each in signature.parameters.values():
        group: Any = each.annotation
        if not _is_group(group):
            yield each
            continue
        annotations = get_type_hints(group, include_extras=True)
        for name in names_of(group):
            yield inspect.Parameter(
                name,
                each.kind,
                default=group._field_defaults[name],
                annotation=annotations[name],
            )
