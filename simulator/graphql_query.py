"""Reads the part of GraphQL that the simulated GitHub serves: fields, aliases, arguments and variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graphql import (
    FieldNode,
    GraphQLError,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    parse,
    value_from_ast_untyped,
)


class QueryError(Exception):
    """The query is malformed, or uses a part that the simulator lacks."""


@dataclass
class Field:
    """A field that is asked for.

    :ivar of_type: the type of the inline fragment it stands in; empty for objects of any type.
    """

    name: str
    alias: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    fields: list[Field] = field(default_factory=list["Field"])
    of_type: str = ""


@dataclass
class Operation:
    kind: str
    fields: list[Field]


def read_operation(text: str, variables: Mapping[str, Any]) -> Operation:
    """The operation that a document begins with.

    :raises QueryError: the document is not GraphQL, or uses a part of it that is not served.
    """
    try:
        first = parse(text).definitions[0]
    except GraphQLError as error:
        raise QueryError(f"Parse error: {error.message}") from None
    if not isinstance(first, OperationDefinitionNode):
        raise QueryError("Named fragments are not supported")
    given = {**_read_defaults(first), **variables}
    return Operation(first.operation.value, _read_fields(first.selection_set, given))


def _read_defaults(operation: OperationDefinitionNode) -> dict[str, Any]:
    """The value of each variable that the request leaves out."""
    return {
        each.variable.name.value: value_from_ast_untyped(each.default_value) if each.default_value else None
        for each in operation.variable_definitions or ()
    }


def _read_fields(selected: SelectionSetNode | None, variables: Mapping[str, Any]) -> list[Field]:
    """The fields of an object; those of an inline fragment only of its type."""
    fields: list[Field] = []
    for node in selected.selections if selected else ():
        if isinstance(node, FieldNode):
            fields.append(_read_field(node, variables))
        elif isinstance(node, InlineFragmentNode):
            of_type = node.type_condition.name.value if node.type_condition else ""
            fields += [replace(each, of_type=of_type) for each in _read_fields(node.selection_set, variables)]
        else:
            raise QueryError("Named fragments are not supported")
    return fields


def _read_field(node: FieldNode, variables: Mapping[str, Any]) -> Field:
    name = node.name.value
    arguments = {each.name.value: value_from_ast_untyped(each.value, dict(variables)) for each in node.arguments or ()}
    return Field(name, node.alias.value if node.alias else name, arguments, _read_fields(node.selection_set, variables))
