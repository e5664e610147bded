"""What a path says about a file: whether it is source, may run, is a test and of what, or lists dependencies."""

import re
import unicodedata
from pathlib import PurePosixPath

from domain.text.hidden_characters import is_invisible

_TEST = re.compile(
    r"(^|/)(tests?|spec|__tests__)/|(^|/)(test_[^/]+|[^/]+_test|[^/]+[._-](test|spec))\.\w+$"
    r"|(^|/)tests?\.(py|[cm]?[jt]sx?|rb|rs|php)$"
)
_SOURCE = re.compile(r"\.(py|js|jsx|ts|tsx|go|rs|java|kt|rb|php|cs|c|cc|cpp|h|hpp|swift|scala|sh)$")
_MANIFEST = re.compile(
    r"(^|/)(requirements[^/]*\.(txt|in)|requirements/.*\.(txt|in)|setup\.(py|cfg)|pyproject\.toml|Pipfile"
    r"|package\.json|composer\.json|go\.mod|Cargo\.toml|Gemfile|[^/]+\.gemspec|pom\.xml|build\.gradle(\.kts)?"
    r"|pubspec\.yaml|mix\.exs|[^/]+\.csproj)$",
    re.IGNORECASE,
)
_CONFIGURES_LINTER = re.compile(
    r"\.conf(ig)?\.|lint|^[tj]sconfig|^(biome|deno|project|ruleset|nx)\.jsonc?$|^(tox|mypy|pytest|setup)\.|^rector\.|"
    r"^(phpcs|phpmd|phpstan|psalm|checkstyle|pmd|ruleset|detekt|spotbugs)\b|^(conftest|sitecustomize|usercustomize)\.py$|"
    r"^(pyrightconfig|golangci|analysis_options|sonar-project|scalastyle|sgconfig|compile_(commands|flags))\b|"
    r"\.(props|targets|globalconfig)$"
)
_LOCK_NAMES = """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock composer.lock
    poetry.lock uv.lock pdm.lock pipfile.lock pixi.lock cargo.lock go.sum go.work.sum gemfile.lock mix.lock pubspec.lock
    podfile.lock package.resolved packages.lock.json gradle.lockfile flake.lock conan.lock .terraform.lock.hcl
"""
_LOCKS = frozenset(_LOCK_NAMES.split())

_DOCUMENT_SUFFIXES = "md markdown rst adoc asciidoc po pot"
_DOCUMENT_FILES = """
    license licence copying notice authors contributors maintainers changelog readme
    .gitkeep .keep .mailmap .editorconfig
"""
_DATA_SUFFIXES = """
    csv tsv geojson jsonl ndjson parquet sqlite
    png jpg jpeg gif bmp ico webp avif heic tiff psd mp3 mp4 m4a m4v mov avi mkv webm ogg wav flac pdf
    woff woff2 ttf otf eot doc docx xls xlsx ppt pptx
"""
_TEXT_SUFFIXES = """
    py pyi pyx pyw js jsx mjs cjs ts tsx mts cts vue svelte astro go rs java kt kts rb php phtml cs csx fs vb
    c cc cpp cxx h hh hpp m mm swift scala clj ex exs erl hs ml lua pl pm r jl dart groovy gradle sol
    sh bash zsh fish ksh ps1 psm1 psd1 bat cmd vbs wsf hta sql html htm xhtml css scss less xml xsl json json5
    yml yaml toml ini cfg conf properties env tf hcl proto graphql cmake mk gemspec ipynb
"""
_TEXT_FILES = "dockerfile makefile gnumakefile jenkinsfile rakefile gemfile vagrantfile procfile"
_PROSE_SUFFIXES = "txt text tex srt vtt strings xlf xliff resx arb ftl mo log"
_VALUE_SUFFIXES = "json json5 jsonc yml yaml toml ini cfg conf properties env plist css scss less ipynb"
_TRANSLATION_FOLDERS = """
    locale locales _locales lang langs language languages i18n l10n translation translations intl nls messages
"""
_LANGUAGE_CODES = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo
    es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu iw ja jv ka
    kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl
    nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw
    ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
_DOCUMENTS, _DOCUMENT_NAMES = frozenset(_DOCUMENT_SUFFIXES.split()), frozenset(_DOCUMENT_FILES.split())
_DATA = frozenset(_DATA_SUFFIXES.split())
_TEXT, _TEXT_NAMES = frozenset(_TEXT_SUFFIXES.split()), frozenset(_TEXT_FILES.split())
_PROSE, _VALUES = frozenset(_PROSE_SUFFIXES.split()), frozenset(_VALUE_SUFFIXES.split())
_FOR_TRANSLATIONS, _LANGUAGE_NAMES = frozenset(_TRANSLATION_FOLDERS.split()), frozenset(_LANGUAGE_CODES.split())
_READ_BY_PEOPLE = re.compile(
    r"^(readme|license|licence|copying|notices?|authors|contributors|maintainers|changelog|changes|history|news|thanks|"
    r"credits|acknowledge?ments|third[-_]?party|todo|humans|security)([-_.].*)?$"
)
_TERMS = re.compile(r"^(licen[cs]es?|copying|notices?|unlicense|security)([-_.].*)?$")
_INSTRUCTS = re.compile(
    r"(^|/)(claude|agents?|gemini|qwen|iflow|replit|skill|copilot[^/]*|forge-memory|rules|knowledge|best_practices"
    r"|conventions|review)(\.local)?\.\w+$"
    r"|\.(instructions|chatmode|agent)\.\w+$|prompt[^/]*\.\w+$"
    r"|(^|/)([^/]*prompt[^/]*|agents|llm|\.github/(agents|instructions|chatmodes|skills))/|(^|/)\.(?!github/)[^/]+/"
)
"""What agents and other models obey: files of theirs, and whatever lies in a folder that people do not see."""

_DATA_FOLDER = re.compile(r"(^|/)(tests?|specs?|__tests__|testdata|(__)?fixtures?(__)?)/", re.IGNORECASE)
_FOR_PEOPLE = re.compile(
    r"(^|/)docs?/|(^|/)(readme|contributing|changelog|changes|history|licen[cs]e|todo|notes|authors)[^/]*$",
    re.IGNORECASE,
)

_TRAILING = re.compile(r"(?<=[^/. ])[. ]+(?=/|$)")
_MARKS_A_TEST = re.compile(r"^test_|^tests?$|^Test(?=[A-Z])|[._-](test|spec)s?$|(?<=[a-z0-9])(Tests?|Spec)$")
_TEST_FOLDERS = frozenset({"test", "tests", "spec", "__tests__"})
_NAMED_AFTER_THEIR_FOLDER = frozenset({"__init__", "index", "mod"})
_LANGUAGES = {
    **dict.fromkeys((".jsx", ".ts", ".tsx"), ".js"),
    **dict.fromkeys((".cc", ".cpp", ".h", ".hpp"), ".c"),
    **dict.fromkeys((".kt", ".scala"), ".java"),
}


def escape_unprintable(path: str) -> str:
    """A path for people: what cannot be seen in it, such as a character that turns the direction, is escaped."""
    if path.isascii() and path.isprintable():
        return path
    return "".join(
        char.encode("unicode_escape").decode() if is_invisible(char) or not char.isprintable() else char
        for char in path
    )


def clean_name(name: str | None) -> str:
    """An untrusted name on one line for a model, in which everything is seen."""
    return " ".join(escape_unprintable(name or "").split())[:300]


def fold_path(path: str) -> str:
    """A path, or a glob, without what some disk ignores in it: case, composition, characters that nobody sees,
    and dots and spaces at the end of a name.
    """
    if path.isascii():
        return _TRAILING.sub("", path.lower())
    visible = "".join(char for char in path if not is_invisible(char))
    return _TRAILING.sub("", unicodedata.normalize("NFC", unicodedata.normalize("NFD", visible).casefold()))


def is_test(path: str) -> bool:
    """Whether a path looks like a test."""
    return _TEST.search(path) is not None


def is_test_data(path: str) -> bool:
    """Whether a document of this name lies among the data of tests, so that these read it, and not people."""
    return _DATA_FOLDER.search(path) is not None and _FOR_PEOPLE.search(path) is None


def holds_tests(path: str) -> bool:
    """Whether a file of this name holds tests of its own, and not what other tests share or need."""
    if is_manifest(path) or is_lock(path):  # such as requirements_test.txt
        return False
    return is_test(path) and _MARKS_A_TEST.search(PurePosixPath(path).stem) is not None


def instructs_models(path: str) -> bool:
    """Whether agents and other models obey this file, as far as its name tells."""
    return _INSTRUCTS.search(path.lower()) is not None


def is_source(path: str) -> bool:
    """Whether a path looks like code of a program, tests included."""
    return _SOURCE.search(path) is not None


def is_document(path: str) -> bool:
    """Whether people read this file and nothing runs or obeys it.

    A list of dependencies is none, whatever it is called, and so is what tells agents what to do. Plain text is one
    where its name says what it tells: elsewhere it may decide what is built or run.
    """
    name = PurePosixPath(path.lower())
    if is_manifest(path) or _INSTRUCTS.search(str(name)):
        return False
    if name.suffix == ".txt" or (not name.suffix and PurePosixPath(path).name.isupper()):  # such as CHANGES
        return _READ_BY_PEOPLE.search(name.stem) is not None
    return name.suffix[1:] in _DOCUMENTS or name.name in _DOCUMENT_NAMES


def holds_prose(path: str) -> bool:
    """Whether it is known to hold what people read, beside documents: plain text, mere data, or translations."""
    name = PurePosixPath(path.lower())
    if is_manifest(path) or ".github" in name.parts:
        return False
    if name.suffix[1:] in _PROSE or is_data(path):
        return True
    named = name.stem.split(".")[-1].replace("_", "-").split("-")[0]
    is_placed = not _FOR_TRANSLATIONS.isdisjoint(name.parts[:-1])
    return name.suffix[1:] in _VALUES and (is_placed or named in _LANGUAGE_NAMES)


def holds_values(path: str) -> bool:
    """Whether it is a list of settings or data, whose values need no quotation marks."""
    name = PurePosixPath(path.lower())
    return name.suffix[1:] in _VALUES or name.name.startswith(".env")


def tells_terms(path: str) -> bool:
    """Whether a file of this name says under which terms the work may be used, or where to report a weakness."""
    name = path.lower()
    return _TERMS.match(name.rsplit("/", 1)[-1]) is not None or name.startswith("licenses/")


def may_run(path: str) -> bool:
    """Whether a file of this name may be run, or may decide what is run.

    Everything is taken to that is known to be neither a document nor mere data: a name nobody has heard of, too.
    """
    return not (is_document(path) or is_lock(path) or is_data(path))


def is_data(path: str) -> bool:
    """Whether programs only show or store what is in a file of this name."""
    return PurePosixPath(path.lower()).suffix[1:] in _DATA


def runs_as_text(path: str) -> bool:
    """Whether a file of this name is text that programs run or obey, also where a byte in it makes it look binary."""
    name = PurePosixPath(path.lower())
    return name.suffix[1:] in _TEXT or name.name in _TEXT_NAMES or is_source(path)


def is_program(path: str) -> bool:
    """Whether a file of this name is a program's text in whatever language, and no list of settings or data."""
    return is_source(path) or (runs_as_text(path) and not holds_values(path))


def may_configure_linter(path: str) -> bool:
    """Whether a linter may take its settings from this file, so that a change of it decides what the linter says."""
    parts = PurePosixPath(path.lower()).parts
    apart = any(part == "node_modules" or (part.startswith(".") and part != ".github") for part in parts)
    return apart or is_manifest(path) or _CONFIGURES_LINTER.search(parts[-1]) is not None


def is_manifest(path: str) -> bool:
    """Whether people write in this file which dependencies there are."""
    return _MANIFEST.search(path) is not None


def is_lock(path: str) -> bool:
    """Whether a package manager writes in this file which dependencies it found; of an unknown one by its ending."""
    name = path.rsplit("/", 1)[-1].lower()
    return name in _LOCKS or name.endswith((".lock", ".lockfile"))


def namesake(path: str) -> tuple[str, str]:
    """What a source file and its tests have in common: the name without the mark of a test, and the language."""
    file = PurePosixPath(path)
    name = _MARKS_A_TEST.sub("", file.stem)
    if name in _NAMED_AFTER_THEIR_FOLDER:
        folders = [part for part in file.parts[:-1] if part not in _TEST_FOLDERS]
        name = folders[-1] if folders else name
    return name.lower(), _LANGUAGES.get(file.suffix, file.suffix)
