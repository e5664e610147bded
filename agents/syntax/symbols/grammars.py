"""The nodes of each grammar that define, bind and import names."""

from collections.abc import Mapping
from dataclasses import dataclass

_Fields = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Grammar:
    """Where names stand in the tree of a language.

    :param names: leaves that are names.
    :param functions: nodes that hold the code of a function, also of one without a name.
    :param classes: nodes with members → the field that holds their name.
    :param definitions: nodes that define a function or class → the field that holds its name.
    :param values: nodes that define a value, or a field of a class → the fields that hold names; of none, any child.
    :param bindings: nodes that bind a name within a function → likewise.
    :param imports: nodes that import.
    :param keys: nodes whose first child is a mere label.
    :param wraps: nodes that may stand between a name and the node that defines or binds it.
    """

    names: tuple[str, ...]
    functions: frozenset[str]
    classes: Mapping[str, str]
    definitions: Mapping[str, str]
    values: _Fields
    bindings: _Fields
    imports: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    wraps: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _name_field(kinds: str) -> dict[str, str]:
    return dict.fromkeys(kinds.split(), "name")


def _fields(kinds: str, *fields: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(kinds.split(), fields)


_PYTHON = Grammar(
    names=("identifier",),
    functions=_words("function_definition lambda"),
    classes=_name_field("class_definition"),
    definitions=_name_field("function_definition class_definition"),
    values=_fields("assignment", "left"),
    bindings={
        **_fields("parameters lambda_parameters typed_parameter as_pattern_target"),
        **_fields("default_parameter typed_default_parameter named_expression", "name"),
        **_fields("for_statement for_in_clause", "left"),
    },
    imports=_words("import_statement import_from_statement"),
    keys=_words("keyword_argument"),
    wraps=_words("pattern_list tuple_pattern list_pattern list_splat_pattern dictionary_splat_pattern"),
)

_JS_FUNCTIONS = "function_declaration generator_function_declaration method_definition"
_JS_BINDINGS = {
    **_fields("formal_parameters catch_clause"),
    **_fields("arrow_function", "parameter"),
    **_fields("assignment_pattern for_in_statement", "left"),
}
_JS_NAMES = (
    *("identifier", "property_identifier", "private_property_identifier", "shorthand_property_identifier"),
    "shorthand_property_identifier_pattern",
)
_JS_WRAPS = _words("object_pattern array_pattern rest_pattern pair_pattern object_assignment_pattern")
_JS_IMPORTS = _words("import_statement export_statement variable_declarator")
_JAVASCRIPT = Grammar(
    names=_JS_NAMES,
    functions=_words(f"{_JS_FUNCTIONS} function_expression arrow_function"),
    classes=_name_field("class_declaration class"),
    definitions=_name_field(f"{_JS_FUNCTIONS} class_declaration"),
    values={
        **_fields("variable_declarator", "name"),
        **_fields("field_definition", "property"),
        **_fields("pair", "key"),
    },
    bindings=_JS_BINDINGS,
    imports=_JS_IMPORTS,
    wraps=_JS_WRAPS,
)
_TS_CLASSES = "class_declaration abstract_class_declaration interface_declaration enum_declaration"
_TYPESCRIPT = Grammar(
    names=(*_JS_NAMES, "type_identifier"),
    functions=_JAVASCRIPT.functions,
    classes=_name_field(f"{_TS_CLASSES} class type_alias_declaration"),
    definitions=_name_field(
        f"{_JS_FUNCTIONS} {_TS_CLASSES} type_alias_declaration method_signature abstract_method_signature"
    ),
    values={
        **_fields("variable_declarator public_field_definition property_signature", "name"),
        **_fields("pair", "key"),
    },
    bindings={**_JS_BINDINGS, **_fields("required_parameter optional_parameter", "pattern")},
    imports=_JS_IMPORTS,
    wraps=_JS_WRAPS,
)

_GO = Grammar(
    names=("identifier", "type_identifier", "field_identifier"),
    functions=_words("function_declaration method_declaration func_literal"),
    classes=_name_field("type_spec"),
    definitions=_name_field("function_declaration method_declaration type_spec type_alias method_elem"),
    values=_fields("const_spec var_spec field_declaration", "name"),
    bindings={
        **_fields("short_var_declaration range_clause", "left"),
        **_fields("parameter_declaration variadic_parameter_declaration", "name"),
    },
    imports=_words("import_spec"),
    keys=_words("keyed_element"),
    wraps=_words("expression_list"),
)

_JAVA_CLASSES = "class_declaration interface_declaration enum_declaration record_declaration"
_JAVA = Grammar(
    names=("identifier", "type_identifier"),
    functions=_words("method_declaration constructor_declaration lambda_expression compact_constructor_declaration"),
    classes=_name_field(_JAVA_CLASSES),
    definitions=_name_field(
        f"{_JAVA_CLASSES} annotation_type_declaration method_declaration constructor_declaration enum_constant"
    ),
    values=_fields("variable_declarator", "name"),
    bindings={
        **_fields("formal_parameter catch_formal_parameter resource enhanced_for_statement", "name"),
        **_fields("inferred_parameters spread_parameter"),
        **_fields("lambda_expression", "parameters"),
    },
    imports=_words("import_declaration"),
    keys=_words("element_value_pair"),
)

_CS_CLASSES = "class_declaration interface_declaration struct_declaration record_declaration enum_declaration"
_CSHARP = Grammar(
    names=("identifier",),
    functions=_words(
        "method_declaration constructor_declaration lambda_expression local_function_statement accessor_declaration"
    ),
    classes=_name_field(_CS_CLASSES),
    definitions=_name_field(
        f"{_CS_CLASSES} method_declaration constructor_declaration property_declaration delegate_declaration "
        "enum_member_declaration"
    ),
    values=_fields("variable_declarator", "name"),
    bindings={
        **_fields("parameter catch_declaration declaration_expression", "name"),
        **_fields("foreach_statement", "left"),
        **_fields("implicit_parameter"),
    },
    imports=_words("using_directive"),
)

_PHP_CLASSES = "class_declaration interface_declaration trait_declaration enum_declaration"
_PHP = Grammar(
    names=("name",),
    functions=_words("function_definition method_declaration anonymous_function arrow_function"),
    classes=_name_field(_PHP_CLASSES),
    definitions=_name_field(f"{_PHP_CLASSES} function_definition method_declaration"),
    values={**_fields("const_element"), **_fields("property_element", "name")},
    bindings={
        **_fields("simple_parameter property_promotion_parameter variadic_parameter catch_clause", "name"),
        **_fields("assignment_expression", "left"),
        **_fields("foreach_statement"),
    },
    imports=_words("namespace_use_declaration"),
    wraps=_words("variable_name"),
)

_RUBY = Grammar(
    names=("identifier", "constant"),
    functions=_words("method singleton_method lambda"),
    classes=_name_field("class module"),
    definitions=_name_field("class module method singleton_method"),
    values=_fields("assignment", "left"),
    bindings={
        **_fields("method_parameters block_parameters lambda_parameters exception_variable"),
        **_fields("optional_parameter keyword_parameter splat_parameter block_parameter hash_splat_parameter", "name"),
        **_fields("operator_assignment", "left"),
        **_fields("for", "pattern"),
    },
    wraps=_words("left_assignment_list destructured_parameter"),
)

_RUST_TYPES = "struct_item enum_item trait_item union_item mod_item"
_RUST = Grammar(
    names=("identifier", "type_identifier", "field_identifier"),
    functions=_words("function_item closure_expression"),
    classes={**_name_field(_RUST_TYPES), "impl_item": "type"},
    definitions=_name_field(
        f"{_RUST_TYPES} type_item function_item function_signature_item macro_definition enum_variant"
    ),
    values=_fields("const_item static_item field_declaration", "name"),
    bindings={
        **_fields("let_declaration parameter for_expression let_condition", "pattern"),
        **_fields("closure_parameters match_pattern"),
    },
    imports=_words("use_declaration"),
    wraps=_words("mut_pattern tuple_pattern ref_pattern reference_pattern tuple_struct_pattern"),
)

_C_TYPES = "struct_specifier union_specifier enum_specifier"
_C_WRAPS = "function_declarator pointer_declarator array_declarator init_declarator parenthesized_declarator"
_C = Grammar(
    names=("identifier", "type_identifier", "field_identifier"),
    functions=_words("function_definition"),
    classes=_name_field(_C_TYPES),
    definitions={
        **_name_field("preproc_function_def preproc_def enumerator"),
        **dict.fromkeys(("function_definition", "type_definition"), "declarator"),
    },
    values=_fields("declaration field_declaration", "declarator"),
    bindings=_fields("parameter_declaration", "declarator"),
    imports=_words("preproc_include"),
    wraps=_words(_C_WRAPS),
)
_CPP = Grammar(
    names=(*_C.names, "namespace_identifier"),
    functions=_words("function_definition lambda_expression"),
    classes=_name_field(f"{_C_TYPES} class_specifier"),
    definitions=_C.definitions,
    values=_C.values,
    bindings=_fields("parameter_declaration optional_parameter_declaration for_range_loop", "declarator"),
    imports=_words("preproc_include"),
    wraps=_words(f"{_C_WRAPS} reference_declarator qualified_identifier"),
)

GRAMMARS: Mapping[str, Grammar] = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "go": _GO,
    "java": _JAVA,
    "csharp": _CSHARP,
    "php": _PHP,
    "ruby": _RUBY,
    "rust": _RUST,
    "c": _C,
    "cpp": _CPP,
}
"""Language → its grammar; names of other languages are not followed."""
