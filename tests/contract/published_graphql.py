"""Holds GraphQL to the schema that GitHub publishes: what is asked, and what the simulated GitHub answers.

``published.graphql`` is a part of ``schema.graphql`` of the npm package ``@octokit/graphql-schema`` 15.26.1 by the
contributors of octokit/graphql-schema, under the MIT licence: the types named here, with every field whose type and
arguments are among them or are scalars. Descriptions were left out. To take another type in, name it in ``_KEPT`` and
call ``python -m tests.contract.published_graphql PATH/TO/schema.graphql``.
"""

import re
import sys
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from graphql import (
    REMOVE,
    DirectiveDefinitionNode,
    DirectiveNode,
    EnumTypeDefinitionNode,
    FieldDefinitionNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    InputObjectTypeDefinitionNode,
    InterfaceTypeDefinitionNode,
    NamedTypeNode,
    Node,
    ObjectTypeDefinitionNode,
    ScalarTypeDefinitionNode,
    TypeNode,
    UnionTypeDefinitionNode,
    Visitor,
    build_schema,
    execute_sync,
    parse,
    print_ast,
    specified_scalar_types,
    validate,
    visit,
)

_PUBLISHED = Path(__file__).with_name("published.graphql")
_DESCRIPTION = re.compile(r'""".*?"""', re.DOTALL)
_NAMES = """
    Query Mutation
    Actor Bot EnterpriseUserAccount Mannequin Minimizable Node Organization User
    Issue IssueComment IssueTimelineItems IssueTimelineItemsConnection RenamedTitleEvent
    UserContentEdit UserContentEditConnection
    PageInfo PullRequest PullRequestReview PullRequestReviewComment PullRequestReviewCommentConnection
    PullRequestReviewThread PullRequestReviewThreadConnection PullRequestTimelineItems
    PullRequestTimelineItemsConnection Reaction Repository
    AddReactionInput AddReactionPayload ConvertPullRequestToDraftInput ConvertPullRequestToDraftPayload
    MarkPullRequestReadyForReviewInput MarkPullRequestReadyForReviewPayload MinimizeCommentInput MinimizeCommentPayload
    UnminimizeCommentInput UnminimizeCommentPayload
    ResolveReviewThreadInput ResolveReviewThreadPayload UnresolveReviewThreadInput UnresolveReviewThreadPayload
    UpdateIssueCommentInput UpdateIssueCommentPayload UpdatePullRequestInput UpdatePullRequestPayload
    EnqueuePullRequestInput EnqueuePullRequestPayload MergeQueueEntry
    OrderDirection Ref RefConnection RefOrder RefOrderField RefUpdateRule
"""
_KEPT = frozenset(_NAMES.split())


def find_mistakes(query: str, variables: Mapping[str, Any]) -> list[str]:
    """Why GitHub would refuse an operation; nothing where it would not.

    :param variables: those that are sent with it, by name.
    """
    try:
        document = parse(query)
    except GraphQLSyntaxError as error:
        return [error.message]
    found = [error.message for error in validate(_schema(), document)]
    if found:
        return found
    answered = execute_sync(_schema(), document, {}, variable_values=dict(variables), field_resolver=_nothing)
    return [error.message for error in answered.errors or () if error.path is None]  # of the variables


def find_differences(query: str, variables: Mapping[str, Any], data: Mapping[str, Any]) -> list[str]:
    """Where an answer is not of the types that were asked for.

    :param data: what was answered, without the errors beside it.
    """
    document = parse(query)
    answered = execute_sync(
        _schema(), document, dict(data), variable_values=dict(variables), field_resolver=_by_alias, type_resolver=_type
    )
    return [_describe_error(error) for error in answered.errors or ()]


@cache
def _schema() -> GraphQLSchema:
    return build_schema(_PUBLISHED.read_text(), assume_valid=True)


def _nothing(_source: Any, _info: Any, **_arguments: Any) -> None:
    return None


def _by_alias(source: Any, info: Any, **_arguments: Any) -> Any:
    """What the answer holds where the operation has this field."""
    return source.get(str(info.path.key))


def _type(value: Any, _info: Any, _of: Any) -> str:
    """Which of several types an object is of: an answer says it only where it was asked."""
    return str(value.get("__typename", "User"))


def _describe_error(error: GraphQLError) -> str:
    return f"{'.'.join(map(str, error.path or ()))}: {error.message}"


class _Reduction(Visitor):
    """Leaves of a schema what is kept."""

    def __init__(self, scalars: Collection[str]) -> None:
        super().__init__()
        self._types = {*_KEPT, *scalars, *specified_scalar_types}

    def enter(self, node: Node, key: Any, *_where: Any) -> Any:
        """What becomes of a node: it goes, or its parts are looked at."""
        match node:
            case DirectiveNode() | DirectiveDefinitionNode():
                return REMOVE
            case InterfaceTypeDefinitionNode() | ObjectTypeDefinitionNode() | UnionTypeDefinitionNode():
                return self._if(node.name.value in _KEPT)
            case InputObjectTypeDefinitionNode() | EnumTypeDefinitionNode() | ScalarTypeDefinitionNode():
                return self._if(node.name.value in self._types)
            case FieldDefinitionNode():
                return self._if({_name(each.type) for each in (node, *(node.arguments or ()))} <= self._types)
            case NamedTypeNode() if key != "type":  # an interface
                return self._if(node.name.value in _KEPT)
            case _:
                return None

    @staticmethod
    def _if(kept: bool) -> Any:
        return None if kept else REMOVE


def _reduce(schema: str) -> str:
    """The part of the schema that is kept, without descriptions."""
    whole = parse(_DESCRIPTION.sub("", schema))
    named = [node for node in whole.definitions if isinstance(node, ScalarTypeDefinitionNode | EnumTypeDefinitionNode)]
    words = {node.name.value: print_ast(node) for node in named}
    blocks = print_ast(visit(whole, _Reduction(words))).split("\n\n")
    types = [block for block in blocks if not block.startswith(("enum ", "scalar "))]
    used = set(re.findall(r"\w+", "\n".join(types)))
    return "\n\n".join([*types, *(words[name] for name in sorted(used.intersection(words)))]) + "\n"


def _name(node: TypeNode) -> str:
    return re.sub(r"\W", "", print_ast(node))


if __name__ == "__main__":
    _PUBLISHED.write_text(_reduce(Path(sys.argv[1]).read_text()))
