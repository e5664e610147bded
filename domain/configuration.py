"""What a repository configures in ``.github/forge.yml``, with its defaults."""

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A part of the configuration; unknown keys are mistakes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Linter(Section):
    """A linter that prints SARIF 2.1.0 on standard output.

    :param name: how findings name it: lower case letters, digits and dashes.
    :param run: the command line, split like a shell would but run without one; the changed files are appended.
    :param paths: glob patterns of the files it is given.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,29}$")
    run: str = Field(min_length=1, max_length=500)
    paths: tuple[str, ...] = ("**",)


class Paths(Section):
    """Which files are looked at: all that match ``include`` and none of ``exclude``."""

    include: tuple[str, ...] = ("**",)
    exclude: tuple[str, ...] = ()


class ReviewSettings(Section):
    """The ``review`` section."""

    on_pull_request: bool = True
    drafts: bool = False
    paths: Paths = Paths()
    linters: tuple[Linter, ...] = ()
    max_comments: int = Field(default=25, ge=0, le=100)
    model: bool = True


class ProtectedPaths(BaseModel):
    """The ``paths`` section, as far as it is read today."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    sensitive: tuple[str, ...] = ()


class Configuration(BaseModel):
    """The whole file. Sections that no part of Forge reads yet are let through."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    review: ReviewSettings = ReviewSettings()
    paths: ProtectedPaths = ProtectedPaths()
