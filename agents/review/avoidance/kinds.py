"""Names that the grammars have for what several readers ask for."""

RETURNS = frozenset({"return_statement", "return", "return_expression"})
IFS = frozenset(
    {"if_statement", "if_expression", "if", "if_modifier", "elif_clause", "else_if_clause", "conditional_expression"}
)
CASES = frozenset(
    {"match_arm", "switch_case", "case_clause", "when", "expression_case", "case_statement", "case_item"}
    | {"switch_section", "switch_block_statement_group", "switch_rule", "switch_expression_arm"}
    | {"match_conditional_expression"}
)
"""Branches of a choice between values."""
MARKS = frozenset({"decorator", "attribute_item", "attribute_list", "modifiers", "annotation", "marker_annotation"})
"""What stands above a test, a class or a function and says something of it."""
SUITES = frozenset({"class_definition", "class_declaration", "class", "mod_item", "module"})
"""What may hold tests under a name."""
