"""What is read from one version of one file, so that two versions of a change can be compared."""

from enum import IntEnum

from pydantic import BaseModel, ConfigDict


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True)


class Strength(IntEnum):
    """How much an assertion demands."""

    vacuous = 0
    weak = 1
    partial = 2
    exact = 3


class SideFact(_Fact):
    """One side of a comparison.

    :param through: what it passes through before it is compared, from the outside in.
    :param core: what is left of it.
    """

    through: tuple[str, ...]
    core: str


class AssertionFact(_Fact):
    """One assertion.

    :param words: the names and literals in it, without those of the test framework.
    :param literals: those of them that are literals.
    :param guards: how many conditions and handlers stand around it in its test.
    :param kind: its verb, such as ``equal``; of another framework it may be the same.
    :param sides: what it compares, as far as that can be told.
    """

    line: int
    text: str
    words: tuple[str, ...]
    literals: tuple[str, ...]
    strength: Strength
    guards: int
    kind: str
    sides: tuple[SideFact, ...] = ()


class TestFact(_Fact):
    """One test.

    :param name: with those of its classes and groups.
    :param skip: how it is skipped or allowed to fail; empty if it is not.
    :param is_conditional: whether it is so only where a condition of the platform holds.
    :param rows: the cases of its table or parameters.
    :param words: the names and literals in it.
    :param calls: the last names of what it calls, as often as it does.
    :param is_collected: whether a runner finds its class.
    :param shadowed_by: the line of a later definition that replaces it; 0: it stays.
    :param inverted: how it passes only if an assertion of its own fails; empty if it does not.
    :param groups: the marks, tags and categories by which runners choose it.
    :param needs: the conditions under which it is there at all.
    """

    name: str
    line: int
    end: int
    skip: str = ""
    is_conditional: bool = False
    assertions: tuple[AssertionFact, ...] = ()
    rows: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    signature: int = 0
    calls: tuple[str, ...] = ()
    is_collected: bool = True
    shadowed_by: int = 0
    inverted: str = ""
    groups: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def short_name(self) -> str:
        return self.name.rpartition(" › ")[2]


class FunctionFact(_Fact):
    """A function, method or class that others can name.

    :param name: with that of its class.
    :param body: a signature of what it does, without its name.
    :param raises: the texts of the errors that it raises or returns.
    :param stub: how its body leaves the work out; empty if it does the work.
    :param swallows: the texts of its handlers that drop an error.
    :param cases: literals that it tells apart.
    :param specials: literals of inputs for which it has an answer of its own.
    :param assertions: how many it has that demand something.
    :param demand: how much they demand together, as the sum of their strengths.
    :param size: how many names, literals and signs its body has.
    :param answer: the one value that it answers with, whatever it is given; empty if it does more.
    :param answers: tables of literals for literals; the text has those of the inputs.
    :param checks: the assertions in it.
    :param early: names in what it answers with before its end, and in the conditions on which it does.
    """

    name: str
    line: int
    is_public: bool
    is_class: bool = False
    body: int = 0
    words: frozenset[str] = frozenset()
    raises: tuple[str, ...] = ()
    stub: str = ""
    swallows: tuple["PlaceFact", ...] = ()
    specials: tuple["PlaceFact", ...] = ()
    cases: tuple[str, ...] = ()
    assertions: int = 0
    demand: int = 0
    size: int = 0
    answer: str = ""
    answers: tuple["PlaceFact", ...] = ()
    checks: tuple[AssertionFact, ...] = ()
    early: frozenset[str] = frozenset()

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]


class PlaceFact(_Fact):
    """A line that matters.

    :param what: what it does, for people.
    :param text: by which it is found again in the other version.
    """

    line: int
    what: str
    text: str


class TableFact(_Fact):
    """A table of the program.

    :param keys: literals, without quotes.
    """

    name: str
    line: int
    keys: tuple[str, ...]


class CommandFact(_Fact):
    """A command that runs tests or checks.

    :param family: which of both.
    :param tool: what it calls, such as ``go test``.
    :param text: the whole command.
    """

    line: int
    family: str
    tool: str
    text: str


class ChoiceFact(_Fact):
    """What a runner is set to leave out, or is told to run.

    :param kind: ``group``: a mark, tag or category. ``set``: a tag, feature or symbol of the compiler. ``variable``: of
        the environment. ``path``: where it does not look. ``root``: where it looks. ``named``: a path in a command.
    :param is_run: whether it is run; else it is left out.
    """

    kind: str
    name: str
    is_run: bool


class ReplacementFact(_Fact):
    """A function or method that a hook puts something else in place of, for many tests.

    :param target: the module that it is from, and its name.
    :param origin: the package; a dot if it is named by its place.
    """

    line: int
    name: str
    target: str
    origin: str


class SourceFacts(_Fact):
    """What one version of a file holds.

    :param is_test: whether it holds tests.
    :param is_read: whether its syntax was read; it may be too large, or written by a machine.
    :param rows: cases in tables outside of its tests.
    :param literals: of a file with tests.
    :param options: names of routes, command-line options and keys that it offers.
    :param suppressions: comments and settings that silence a tool.
    :param ignored: where a failure has no effect.
    :param focused: tests beside which no others run.
    :param deselected: where tests are left out by a setting or command.
    :param environment: where code asks whether it runs under a test.
    :param left_out: comments and errors that leave work for later.
    :param thresholds: setting → the coverage that it demands, in per cent.
    :param commands: those that run tests or checks.
    :param triggers: events that start a workflow.
    :param mocks: what tests put a substitute for; its text is the name.
    :param tables: those of the program that have a name.
    :param replaced: what hooks replace for many tests.
    :param needs: the conditions under which the whole file is compiled.
    :param choices: which tests its settings and commands leave out, and which they run.
    """

    is_test: bool
    is_read: bool = True
    tests: tuple[TestFact, ...] = ()
    rows: tuple[str, ...] = ()
    literals: frozenset[str] = frozenset()
    functions: tuple[FunctionFact, ...] = ()
    options: tuple[PlaceFact, ...] = ()
    suppressions: tuple[PlaceFact, ...] = ()
    ignored: tuple[PlaceFact, ...] = ()
    deselected: tuple[PlaceFact, ...] = ()
    focused: tuple[PlaceFact, ...] = ()
    environment: tuple[PlaceFact, ...] = ()
    left_out: tuple[PlaceFact, ...] = ()
    thresholds: dict[str, float] = {}
    commands: tuple[CommandFact, ...] = ()
    triggers: frozenset[str] = frozenset()
    mocks: tuple[PlaceFact, ...] = ()
    tables: tuple[TableFact, ...] = ()
    choices: tuple[ChoiceFact, ...] = ()
    replaced: tuple[ReplacementFact, ...] = ()
    needs: tuple[str, ...] = ()


FunctionFact.model_rebuild()
