"""Which changes of a manifest change the dependencies it names."""

import pytest

from agents.syntax.manifests import names_same

POM = "<project><version>{}</version><dependencies><dependency>{}</dependency></dependencies></project>"


@pytest.mark.parametrize(
    ("path", "base", "other", "depends"),
    [
        (
            "package.json",
            '{"dependencies": {"a": "1"}, "scripts": {"x": "y"}}',
            '{"dependencies": {"a": "1"}, "scripts": {"x": "z"}, "eslintConfig": {"overrides": []}}',
            '{"dependencies": {"a": "2"}, "scripts": {"x": "y"}}',
        ),
        (
            "pyproject.toml",
            '[project]\nversion = "1"\ndependencies = ["a"]\n',
            '[project]\nversion = "2"\ndependencies = ["a"]\n[tool.coverage.run]\nsource = ["a"]\n',
            '[project]\nversion = "1"\ndependencies = ["a"]\n[dependency-groups]\ndev = ["b"]\n',
        ),
        (
            "pyproject.toml",
            '[tool.poetry.group.dev.dependencies]\na = "1"\n',
            '[tool.poetry.group.dev.dependencies]\na = "1"\n[tool.ruff]\nline-length = 9\n',
            '[tool.poetry.group.dev.dependencies]\na = "2"\n',
        ),
        (
            "Cargo.toml",
            '[dependencies]\na = "1"\n',
            '[package]\nversion = "2"\n[dependencies]\na = "1"\n',
            '[dependencies]\na = "1"\n[patch.crates-io]\na = { path = "x" }\n',
        ),
        ("Pipfile", '[packages]\na = "*"\n', '[packages]\na = "*"\n[scripts]\nx = "y"\n', '[dev-packages]\na = "*"\n'),
        (
            "setup.cfg",
            "[options]\ninstall_requires =\n  a\n",
            "[metadata]\nname = b\n[options]\ninstall_requires =\n  a\n",
            "[options]\ninstall_requires =\n  a\n[options.extras_require]\ntest = c\n",
        ),
        (
            "setup.py",
            'setup(version="1", install_requires=["a"])',
            'setup(version="2", install_requires=["a"])',
            'setup(version="1", install_requires=["a", "b"])',
        ),
        ("requirements/dev.txt", "a==1\n", "# why\na==1  # so\n\n", "a==2\n"),
        ("go.mod", "module a\ngo 1.21\nrequire b v1\n", "go 1.22\nrequire b v1\n", "module a\nrequire b v2\n"),
        ("Gemfile", 'gem "a"\n', '# more\ngem "a"\n', 'gem "b"\n'),
        ("a.gemspec", 's.add_dependency "a"\n', 's.version = "2"\ns.add_dependency "a"\n', 's.add_dependency "b"\n'),
        ("pom.xml", POM.format(1, "a"), POM.format(2, "a"), POM.format(1, "b")),
    ],
)
def test_only_what_lists_dependencies_changes_them(path: str, base: str, other: str, depends: str) -> None:
    assert names_same(path, base, other)
    assert not names_same(path, base, depends)


@pytest.mark.parametrize(
    ("path", "base", "head"),
    [
        ("package.json", None, "{}"),
        ("package.json", "{", "{}"),
        ("package.json", "[]", "[]"),
        ("setup.py", "setup(install_requires=read())", "setup(install_requires=read())"),
        ("a.gemspec", "s.add_dependency name", "s.add_dependency name"),
        ("pom.xml", "<!DOCTYPE a>\n<project/>", "<!DOCTYPE a>\n<project/>"),
        ("unknown", "a", "a"),
    ],
)
def test_what_is_not_certain_counts_as_a_change(path: str, base: str | None, head: str) -> None:
    assert not names_same(path, base, head)
