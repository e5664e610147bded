"""Names are resolved in ten languages: what is ours is found under any name, and what only looks like it is not."""

import re

import pytest

from tests.unit.model_review.trees import describe, tell

CALLS = "calls total, which changed"
GONE = "calls total, which is gone"

PYTHON = {
    "shop/__init__.py": "from shop.till import total\n",
    "shop/plain.py": "from shop.till import total\n\ndef pay(cart):\n    return total(cart, 2)\n",
    "shop/alias.py": "from .till import total as summed\n\ndef pay(cart):\n    return summed(cart)\n",
    "shop/module.py": "import shop.till as tills\n\ndef pay(cart):\n    return tills.total(cart) + 1\n",
    "shop/passed_on.py": "from shop import total\n\ndef pay(cart, rate):\n    return total(cart, rate)\n",
    "shop/local.py": "def pay(total, cart):\n    total(cart)\n\ndef other():\n    total = len\n    return total([])\n",
    "shop/own.py": "def total(cart):\n    return 1\n\ndef pay(cart):\n    return total(cart)\n",
    "shop/library.py": "from numpy import total\n\ndef pay(cart):\n    return total(cart)\n",
    "shop/builtin.py": "def pay(cart):\n    return total(cart)\n",
    "shop/words.py": (
        "# total(cart)\nTEXT = 'total(cart)'\n\ndef pay(order):\n    return order.total(1) + sum(total=1)\n"
    ),
    "deploy.yml": "total: 1\n",
}
JAVASCRIPT = {
    "src/index.js": "export { total } from './till';\nexport * from './till';\n",
    "src/plain.js": "import { total } from './till';\nexport const pay = (cart) => total(cart, 2);\n",
    "src/alias.js": "import { total as summed } from './till.js';\nfunction pay(cart) { return summed(cart); }\n",
    "src/module.js": "const till = require('./till');\nfunction pay(cart) { return till.total(cart) + 1; }\n",
    "src/taken.js": "const { total: sum } = require('./till');\nfunction pay(cart) { return sum(cart) * 3; }\n",
    "web/passed_on.js": "import { total } from '../src';\nfunction pay(cart) { return total(cart, 3); }\n",
    "src/local.js": (
        "function pay(total, cart) { return total(cart); }\nconst f = (c) => { const total = c; return total(); };\n"
    ),
    "src/library.js": "import { total } from 'lodash';\nfunction pay(cart) { return total(cart); }\n",
    "src/builtin.js": "function pay(cart) { return total(cart); }\n",
    "src/words.js": "function pay(order) { return order.total(1) + `total(${order})`; }\n",
}
TYPESCRIPT = {
    "src/plain.ts": (
        "import { total } from './till';\nexport function pay(cart: Cart): number { return total(cart, 2); }\n"
    ),
    "src/alias.tsx": "import { total as summed } from '@/till';\nexport const Pay = () => <b>{summed(cart)}</b>;\n",
    "src/module.ts": "import * as till from './till';\nexport function pay(cart: Cart) { return till.total(cart); }\n",
    "src/library.ts": "import { total } from '@other/till';\nexport function pay(cart: Cart) { return total(cart); }\n",
    "src/local.ts": "export function pay(total: (c: Cart) => number, cart: Cart) { return total(cart); }\n",
    "src/words.ts": "export function pay(order: Order) { return order.total(1); }\n",
}
GO = {
    "go.mod": "module example.org/shop\n\ngo 1.22\n",
    "till/same.go": "package till\n\nfunc Pay(cart Cart) int {\n\treturn Total(cart) + 1\n}\n",
    "web/plain.go": (
        'package web\n\nimport "example.org/shop/till"\n\n'
        "func Pay(cart till.Cart) int {\n\treturn till.Total(cart)\n}\n"
    ),
    "web/alias.go": (
        'package web\n\nimport t "example.org/shop/till"\n\n'
        "func Other(cart t.Cart) int {\n\treturn t.Total(cart) * 2\n}\n"
    ),
    "web/library.go": (
        'package web\n\nimport "example.net/till"\n\nfunc Third(c int) int {\n\treturn till.Total(c)\n}\n'
    ),
    "web/local.go": "package web\n\nfunc Fourth(Total func(int) int) int {\n\treturn Total(1)\n}\n",
    "web/words.go": "package web\n\nfunc Fifth(o Order) int {\n\treturn o.Total(1)\n}\n",
}
JAVA = {
    "src/main/java/shop/Same.java": (
        "package shop;\nclass Same {\n  int pay(Cart c) {\n    return Till.total(c);\n  }\n}\n"
    ),
    "src/main/java/web/Plain.java": (
        "package web;\nimport shop.Till;\nclass Plain {\n  private final Till till;\n"
        "  int pay(Cart c) {\n    return till.total(c) + 1;\n  }\n}\n"
    ),
    "src/main/java/web/Static.java": (
        "package web;\nimport static shop.Till.total;\nclass Static {\n"
        "  int pay(Cart c) {\n    return total(c) * 2;\n  }\n}\n"
    ),
    "src/main/java/web/Library.java": (
        "package web;\nimport com.other.Till;\nclass Library {\n"
        "  int pay(Cart c) {\n    return Till.total(c);\n  }\n}\n"
    ),
    "src/main/java/web/Words.java": (
        "package web;\nclass Words {\n  int total(int a) { return a; }\n  int pay(Order total) {\n"
        "    return total(1) + total.total(2);\n  }\n}\n"
    ),
}
CSHARP = {
    "Web/Plain.cs": (
        "using Shop;\nnamespace Web;\nclass Plain {\n  private readonly Till _till;\n"
        "  int Pay(Cart c) {\n    return _till.Total(c);\n  }\n}\n"
    ),
    "Shop/Near.cs": (
        "namespace Shop.Near;\nclass Near {\n  int Pay(Cart c) {\n    return new Till().Total(c) + 1;\n  }\n}\n"
    ),
    "Web/Unseen.cs": (
        "using Other;\nnamespace Web;\nclass Unseen {\n  int Pay(Cart c) {\n    return Till.Total(c);\n  }\n}\n"
    ),
    "Web/Words.cs": (
        "using Shop;\nnamespace Web;\nclass Words {\n  int Total(int a) { return a; }\n  int Pay(Order Till) {\n"
        "    return Total(1) + Till.Total(2);\n  }\n}\n"
    ),
}
PHP = {
    "src/Web/Plain.php": (
        "<?php\nnamespace Web;\nuse Shop\\Till;\nclass Plain {\n  public function __construct(private Till $till) {}\n"
        "  function pay($c) {\n    return $this->till->total($c);\n  }\n}\n"
    ),
    "src/Web/Alias.php": (
        "<?php\nnamespace Web;\nuse Shop\\Till as Box;\nclass Alias {\n"
        "  function pay(Box $b, $c) {\n    return $b->total($c) + 1;\n  }\n}\n"
    ),
    "src/Web/Library.php": (
        "<?php\nnamespace Web;\nuse Other\\Till;\nclass Library {\n"
        "  function pay($c) {\n    return Till::total($c);\n  }\n}\n"
    ),
    "src/Web/Words.php": (
        "<?php\nnamespace Web;\nuse Shop\\Till;\nclass Words {\n  function total($a) { return $a; }\n"
        "  function pay(Order $till) {\n    return $this->total(1) + $till->total(2);\n  }\n}\n"
    ),
}
RUBY = {
    "app/plain.rb": "class Plain\n  def pay(cart)\n    Till.new.total(cart)\n  end\nend\n",
    "app/variable.rb": (
        "class Variable\n  def pay(cart)\n    till = Shop::Till.new\n    till.total(cart) + 1\n  end\nend\n"
    ),
    "app/words.rb": (
        "class Words\n  def total(a)\n    a\n  end\n\n  def pay(order)\n    total(1) + order.total(2)\n  end\nend\n"
    ),
    "app/local.rb": "class Local\n  def pay(till, total)\n    till = Other.new\n    till.total(total)\n  end\nend\n",
}
RUST = {
    "Cargo.toml": '[package]\nname = "the-shop"\n',
    "src/lib.rs": "pub mod till;\npub mod web;\npub use till::total;\n",
    "src/web/plain.rs": "use crate::till::total;\n\nfn pay(c: Cart) -> u8 {\n    total(c)\n}\n",
    "src/web/alias.rs": (
        "use crate::{till::{self as t, Cart}, web};\n\nfn pay(c: Cart) -> u8 {\n    t::total(c) + 1\n}\n"
    ),
    "tests/passed_on.rs": "use the_shop::total;\n\nfn pay(c: u8) -> u8 {\n    total(c) + 2\n}\n",
    "src/web/library.rs": "use other::till::total;\n\nfn pay(c: u8) -> u8 {\n    total(c)\n}\n",
    "src/web/local.rs": (
        "fn pay(total: fn(u8) -> u8) -> u8 {\n    total(1)\n}\n\nfn other(o: Order) -> u8 {\n    o.total(2)\n}\n"
    ),
}
C = {
    "src/till.h": "int total(struct cart *c);\n",
    "src/plain.c": '#include "till.h"\n\nint pay(struct cart *c)\n{\n    return total(c);\n}\n',
    "src/own.c": "static int total(int a)\n{\n    return a;\n}\n\nint second(int a)\n{\n    return total(a);\n}\n",
    "src/local.c": "int third(int (*total)(int))\n{\n    return total(1);\n}\n",
    "src/words.c": "int fourth(struct order *o)\n{\n    return o->total(2);\n}\n",
}

CHANGES = {
    "python": (
        "shop/till.py",
        "def total(cart):\n    return cart.sum\n",
        "def total(cart, rate=1):\n    return cart.sum * rate\n",
        PYTHON,
        {"shop/plain.py", "shop/alias.py", "shop/module.py", "shop/passed_on.py"},
    ),
    "javascript": (
        "src/till.js",
        "export function total(cart) {\n  return cart.sum;\n}\n",
        "export function total(cart, rate) {\n  return cart.sum * rate;\n}\n",
        JAVASCRIPT,
        {"src/plain.js", "src/alias.js", "src/module.js", "src/taken.js", "web/passed_on.js"},
    ),
    "typescript": (
        "src/till.ts",
        "export function total(cart: Cart): number {\n  return cart.sum;\n}\n",
        "export function total(cart: Cart, rate = 1): number {\n  return cart.sum * rate;\n}\n",
        TYPESCRIPT,
        {"src/plain.ts", "src/alias.tsx", "src/module.ts"},
    ),
    "go": (
        "till/till.go",
        "package till\n\nfunc Total(cart Cart) int {\n\treturn cart.Sum\n}\n",
        "package till\n\nfunc Total(cart Cart) int64 {\n\treturn cart.Sum\n}\n",
        GO,
        {"till/same.go", "web/plain.go", "web/alias.go"},
    ),
    "rust": (
        "src/till.rs",
        "pub fn total(c: Cart) -> u8 {\n    c.sum\n}\n",
        "pub fn total(c: &Cart) -> u8 {\n    c.sum\n}\n",
        RUST,
        {"src/web/plain.rs", "src/web/alias.rs", "tests/passed_on.rs"},
    ),
    "c": (
        "src/till.c",
        '#include "till.h"\n\nint total(struct cart *c)\n{\n    return c->sum;\n}\n',
        '#include "till.h"\n\nint total(const struct cart *c)\n{\n    return c->sum;\n}\n',
        C,
        {"src/plain.c"},
    ),
}
METHODS = {
    "java": (
        "src/main/java/shop/Till.java",
        "package shop;\npublic class Till {\n  public static int total(Cart c) {\n    return c.sum;\n  }\n}\n",
        (
            "package shop;\npublic class Till {\n"
            "  public static int total(Cart c) throws Empty {\n    return c.sum;\n  }\n}\n"
        ),
        JAVA,
        {"src/main/java/shop/Same.java", "src/main/java/web/Plain.java", "src/main/java/web/Static.java"},
    ),
    "csharp": (
        "Shop/Till.cs",
        "namespace Shop;\npublic class Till {\n  public int Total(Cart c) {\n    return c.Sum;\n  }\n}\n",
        "namespace Shop;\npublic class Till {\n  public int Total(Cart c, int rate = 1) {\n    return c.Sum;\n  }\n}\n",
        CSHARP,
        {"Web/Plain.cs", "Shop/Near.cs"},
    ),
    "php": (
        "src/Shop/Till.php",
        "<?php\nnamespace Shop;\nclass Till {\n  function total($c) {\n    return $c->sum;\n  }\n}\n",
        "<?php\nnamespace Shop;\nclass Till {\n  function total($c, $rate = 1) {\n    return $c->sum;\n  }\n}\n",
        PHP,
        {"src/Web/Plain.php", "src/Web/Alias.php"},
    ),
    "ruby": (
        "app/till.rb",
        "module Shop\n  class Till\n    def total(cart)\n      cart.sum\n    end\n  end\nend\n",
        "module Shop\n  class Till\n    def total(cart, rate = 1)\n      cart.sum\n    end\n  end\nend\n",
        RUBY,
        {"app/plain.rb", "app/variable.rb"},
    ),
}


@pytest.mark.parametrize("language", CHANGES)
def test_callers_of_a_function_are_found_under_any_name_and_nothing_else_is(language: str) -> None:
    path, base, head, others, callers = CHANGES[language]
    found = tell([describe(path, base, head)], others)
    assert {each.split(": ")[0] for each in found} <= callers
    for part in sorted(callers):  # three places of one name are shown at most
        near = {other: text for other, text in others.items() if other not in callers - {part}}
        near |= {other: text for other, text in others.items() if other.endswith(("__init__.py", "index.js", "lib.rs"))}
        said = tell([describe(path, base, head)], near)
        assert {each.split(": ")[0] for each in said} == {part}, said


@pytest.mark.parametrize("language", METHODS)
def test_callers_of_a_method_are_those_on_its_type(language: str) -> None:
    path, base, head, others, callers = METHODS[language]
    found = tell([describe(path, base, head)], others)
    name = "Total" if language == "csharp" else "total"
    assert found == {f"{each}: calls Till.{name}, which changed" for each in callers}


HEIRS = {
    "python": (
        (
            "a/till.py",
            "class Till:\n    def total(self, cart):\n        return 1\n",
            "class Till:\n    def total(self):\n        return 1\n",
        ),
        {
            "a/fast.py": (
                "from a.till import Till as Base\n\nclass Fast(Base):\n    def total(self, cart):\n        return 2\n"
            ),
            "a/other.py": "from b import Till\n\nclass Other(Till):\n    def total(self, cart):\n        return 2\n",
        },
        "a/fast.py",
    ),
    "javascript": (
        (
            "a/till.js",
            "export default class Till {\n  total(c) { return 1; }\n}\n",
            "export default class Till {\n  total() { return 1; }\n}\n",
        ),
        {
            "a/fast.js": "import Base from './till';\nclass Fast extends Base {\n  total(c) {\n    return 2;\n  }\n}\n",
            "a/other.js": "import Till from 'till';\nclass Other extends Till {\n  total(c) {\n    return 2;\n  }\n}\n",
        },
        "a/fast.js",
    ),
    "typescript": (
        (
            "a/till.ts",
            "export interface Till {\n  total(c: Cart): number;\n}\n",
            "export interface Till {\n  total(): number;\n}\n",
        ),
        {
            "a/fast.ts": (
                "import { Till } from './till';\nclass Fast implements Till {\n"
                "  total(c: Cart): number {\n    return 2;\n  }\n}\n"
            ),
            "a/other.ts": (
                "interface Till { x: number }\nclass Other implements Till {\n"
                "  total(c: Cart) {\n    return 2;\n  }\n}\n"
            ),
        },
        "a/fast.ts",
    ),
    "go": (
        (
            "a/till.go",
            "package a\n\ntype Till struct{}\n\nfunc (t *Till) Total(c Cart) int {\n\treturn 1\n}\n",
            "package a\n\ntype Till struct{}\n\nfunc (t *Till) Total() int {\n\treturn 1\n}\n",
        ),
        {
            "go.mod": "module example.org/s\n",
            "b/fast.go": (
                'package b\n\nimport "example.org/s/a"\n\ntype Fast struct {\n'
                "\t*a.Till\n}\n\nfunc (f *Fast) Total(c a.Cart) int {\n\treturn 2\n}\n"
            ),
            "b/other.go": (
                "package b\n\ntype Other struct {\n\tTill string\n}\n"
                "\nfunc (o *Other) Total(c int) int {\n\treturn 2\n}\n"
            ),
        },
        "b/fast.go",
    ),
    "java": (
        (
            "a/Till.java",
            "package a;\npublic interface Till {\n  int total(Cart c);\n}\n",
            "package a;\npublic interface Till {\n  int total();\n}\n",
        ),
        {
            "b/Fast.java": (
                "package b;\nimport a.Till;\nclass Fast extends Plain<Cart> implements Till {\n"
                "  public int total(Cart c) {\n    return 2;\n  }\n}\n"
            ),
            "b/Other.java": (
                "package b;\nimport c.Till;\nclass Other implements Till {\n"
                "  public int total(Cart c) {\n    return 2;\n  }\n}\n"
            ),
        },
        "b/Fast.java",
    ),
    "csharp": (
        (
            "A/Till.cs",
            "namespace A;\npublic abstract class Till {\n  public abstract int Total(Cart c);\n}\n",
            "namespace A;\npublic abstract class Till {\n  public abstract int Total();\n}\n",
        ),
        {
            "B/Fast.cs": (
                "using A;\nnamespace B;\nclass Fast : Till, IDisposable {\n"
                "  public override int Total(Cart c) {\n    return 2;\n  }\n}\n"
            ),
            "B/Other.cs": (
                "using C;\nnamespace B;\nclass Other : Till {\n"
                "  public override int Total(Cart c) {\n    return 2;\n  }\n}\n"
            ),
        },
        "B/Fast.cs",
    ),
    "php": (
        (
            "A/Till.php",
            "<?php\nnamespace A;\ntrait Till {\n  function total($c) { return 1; }\n}\n",
            "<?php\nnamespace A;\ntrait Till {\n  function total() { return 1; }\n}\n",
        ),
        {
            "B/Fast.php": (
                "<?php\nnamespace B;\nuse A\\Till;\nclass Fast {\n"
                "  use Till;\n  function total($c) {\n    return 2;\n  }\n}\n"
            ),
            "B/Other.php": (
                "<?php\nnamespace B;\nclass Other extends Till {\n  function total($c) {\n    return 2;\n  }\n}\n"
            ),
        },
        "B/Fast.php",
    ),
    "ruby": (
        (
            "till.rb",
            "module Till\n  def total(cart)\n    1\n  end\nend\n",
            "module Till\n  def total\n    1\n  end\nend\n",
        ),
        {
            "fast.rb": "class Fast\n  include Till\n\n  def total(cart)\n    2\n  end\nend\n",
            "other.rb": "class Other\n  def initialize\n    Till\n  end\n\n  def total(cart)\n    2\n  end\nend\n",
        },
        "fast.rb",
    ),
    "rust": (
        (
            "src/till.rs",
            "pub trait Till {\n    fn total(&self, c: u8) -> u8;\n}\n",
            "pub trait Till {\n    fn total(&self) -> u8;\n}\n",
        ),
        {
            "src/lib.rs": "mod till;\nmod fast;\n",
            "src/fast.rs": (
                "use crate::till::Till;\n\nstruct Fast;\n\nimpl Till for Fast {\n"
                "    fn total(&self, c: u8) -> u8 {\n        2\n    }\n}\n"
            ),
            "src/other.rs": (
                "use other::Till;\n\nstruct Other;\n\nimpl Till for Other {\n"
                "    fn total(&self, c: u8) -> u8 {\n        2\n    }\n}\n"
            ),
        },
        "src/fast.rs",
    ),
    "cpp": (
        (
            "till.hpp",
            "class Till {\n public:\n  virtual int total(int c);\n};\n",
            "class Till {\n public:\n  virtual int total();\n};\n",
        ),
        {
            "fast.hpp": (
                '#include "till.hpp"\nclass Fast : public Till {\n public:\n'
                "  int total(int c) override {\n    return 2;\n  }\n};\n"
            ),
            "other.hpp": (
                "class Other : public Box {\n public:\n  int total(int c) override {\n    return 2;\n  }\n};\n"
            ),
        },
        "fast.hpp",
    ),
}


@pytest.mark.parametrize("language", HEIRS)
def test_what_overrides_a_changed_method_is_found(language: str) -> None:
    change, others, heir = HEIRS[language]
    name = "Total" if language in {"csharp", "go"} else "total"
    assert tell([describe(*change)], others) == {f"{heir}: overrides Till.{name}, which changed"}


@pytest.mark.parametrize("language", [*CHANGES, *METHODS])
def test_a_changed_line_shows_the_definition_of_what_it_calls(language: str) -> None:
    path, base, _, others, callers = (CHANGES | METHODS)[language]
    long = re.sub(r"^.*[sS]um.*\n", lambda found: found[0] * 2, base, flags=re.MULTILINE)  # a mere getter says nothing
    for caller in sorted(callers):
        text = others[caller]
        line = next(each for each in text.split("\n") if re.search(r"\b([tT]otal|sum(med)?)\(", each))
        unchanged = {other: each for other, each in others.items() if other != caller} | {path: long}
        found = tell([describe(caller, text.replace(line, "", 1), text)], unchanged)
        assert any(each.startswith(f"{path}: defines ") for each in found), (caller, line, found)
        assert all(each.startswith(f"{path}: ") for each in found)


def test_what_is_gone_shows_who_still_calls_it() -> None:
    base = "def total(cart):\n    return 1\n\n\ndef kept():\n    return 2\n"
    caller = "from shop.till import total\n\ndef pay(cart):\n    return total(cart)\n"
    files = {"shop/__init__.py": "", "web/pay.py": caller}
    gone = describe("shop/till.py", base, "def kept():\n    return 2\n")
    assert tell([gone], files) == {"web/pay.py: calls total, which is gone"}
    assert tell([describe("shop/till.py", base, None)], files) == {"web/pay.py: calls total, which is gone"}
    passed_on = describe("shop/till.py", base, "from shop.sums import total\n\n\ndef kept():\n    return 2\n")
    new = describe("shop/sums.py", None, "def total(cart):\n    return 1\n")
    assert tell([passed_on, new], files) == {"web/pay.py: calls total, which changed"}


def test_a_moved_file_shows_who_imports_it_from_where_it_was() -> None:
    text = "def total(cart):\n    return 1\n"
    moved = describe("shop/sums.py", text, text, old_path="shop/till.py")
    stale = "from shop.till import total\n\ndef pay(cart):\n    return total(cart)\n"
    files = {"shop/__init__.py": "", "web/stale.py": stale, "web/fresh.py": stale.replace("till", "sums")}
    assert tell([moved], files) == {"web/stale.py: calls total, which is gone"}


def test_a_constructor_is_called_by_the_name_of_its_class() -> None:
    base = "class Till:\n    def __init__(self, rate):\n        self.rate = rate\n"
    change = describe("till.py", base, base.replace("rate):", "rate, cart):"))
    files = {"pay.py": "import till\n\ndef pay(rate):\n    return till.Till(rate)\n"}
    assert tell([change], files) == {"pay.py: calls Till.__init__, which changed"}


def test_a_caller_through_the_overridden_method_is_found() -> None:
    till = "from base import Base\n\nclass Till(Base):\n    def total(self, cart):\n        return 1\n"
    files = {
        "base.py": (
            "class Base:\n    def total(self, cart):\n        return 0\n"
            "\n    def pay(self, cart):\n        return self.total(cart)\n"
        ),
        "pay.py": "from base import Base\n\ndef pay(till: Base, cart):\n    return till.total(cart) + 1\n",
        "sibling.py": (
            "from base import Base\n\nclass Other(Base):\n    def pay(self):\n        return super().total(1)\n"
        ),
    }
    found = tell([describe("till.py", till, till.replace("self, cart", "self, cart, rate"))], files)
    assert found == {
        "base.py: calls Till.total, which changed",
        "pay.py: calls Till.total, which changed",
        "base.py: defines Base.total, which Till.total overrides",
    }


def test_an_unknown_receiver_counts_only_where_no_other_method_has_the_name() -> None:
    base = "class Till:\n    def add_up_cart(self, cart):\n        return 1\n"
    change = describe("till.py", base, base.replace("cart):", "cart, rate):"))
    caller = "def pay(thing, cart):\n    return thing.add_up_cart(cart)\n"
    assert tell([change], {"pay.py": caller}) == {"pay.py: calls Till.add_up_cart, which changed"}
    other = "class Box:\n    def add_up_cart(self, cart):\n        return 2\n"
    assert tell([change], {"pay.py": caller, "box.py": other}) == set()
    usual = describe(
        "till.py", base.replace("add_up_cart", "close"), base.replace("add_up_cart(self, cart", "close(self, a")
    )
    assert tell([usual], {"pay.py": caller.replace("add_up_cart", "close")}) == set()


def test_what_a_call_gives_back_has_the_type_that_it_declares() -> None:
    base = "class Till:\n    def add_up(self, cart):\n        return 1\n"
    files = {
        "make.py": "from till import Till\n\ndef make() -> Till:\n    return Till()\n",
        "pay.py": "from make import make\n\ndef pay(cart):\n    return make().add_up(cart)\n",
        "later.py": "from make import make\n\ndef pay(cart):\n    till = make()\n    return till.add_up(cart) + 1\n",
    }
    found = tell([describe("till.py", base, base.replace("cart):", "cart, rate):"))], files)
    assert found == {"pay.py: calls Till.add_up, which changed", "later.py: calls Till.add_up, which changed"}


def test_an_object_that_is_called_after_its_class_is_one() -> None:
    """As services are that a container gives; what has the words of a class and is not one of ours stays unknown."""
    body = "    {\n        $sum = 1;\n        return $sum;\n    }\n"
    base = f"<?php\nclass TillModel\n{{\n    public function settle($cart)\n{body}}}\n"
    other = base.replace("TillModel", "CartModel")
    call = "return $this->tillModel->settle($cart);"
    pay = f"<?php\nclass Pay\n{{\n    public function pay($cart)\n    {{\n        {call}\n    }}\n}}\n"
    files = {
        "cart.php": other,
        "pay.php": pay,
        "other.php": pay.replace("tillModel", "cartModel"),
        "unknown.php": pay.replace("tillModel", "modelOfTill"),
    }
    change = describe("till.php", base, base.replace("$cart)", "$cart, $rate)"))
    assert tell([change], files) == {"pay.php: calls TillModel.settle, which changed"}
    caller = describe("pay.php", pay.replace("($cart);", "();"), pay)
    assert tell([caller], {"till.php": base, "cart.php": other}) == {
        "till.php: defines TillModel.settle, which line 6 calls"
    }


@pytest.mark.parametrize(
    ("receiver", "is_found"),
    [
        ("self.till_store", True),
        ("self._till_store", True),
        ("till_store", True),
        ("till", False),  # one word says nothing
        ("till_store()", False),
        ("store_of_tills", False),
    ],
)
def test_the_name_of_an_object_has_to_be_that_of_its_class(receiver: str, is_found: bool) -> None:
    other = "class Till:\n    def add(self):\n        return 2\n"
    base = f"class TillStore:\n    def add(self, cart):\n        return 1\n\n{other}"
    change = describe("store.py", base, base.replace("cart):", "cart, rate):"))
    caller = f"class Pay:\n    def pay(self, cart):\n        return {receiver}.add(cart)\n"
    found = tell([change], {"pay.py": caller})
    assert found == ({"pay.py: calls TillStore.add, which changed"} if is_found else set())
