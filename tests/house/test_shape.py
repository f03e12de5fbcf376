"""Code style: short functions, meaningful names, nothing that belongs to one machine."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from holdfast.journal.sqlite import connection

from .tree import PACKAGE, ROOT, functions, modules, project_files

MOST_LINES_OF_A_FUNCTION = 60
SAY_NOTHING = {"util", "common", "helper", "manager", "engine", "misc", "base"}


def test_every_function_is_short_enough_to_be_understood() -> None:
    sizes = {
        f"{name}.{function.name}": (function.end_lineno or 0) - function.body[0].lineno + 1
        for name, module in modules().items()
        for function in functions(module)
    }
    assert {name: size for name, size in sizes.items() if size > MOST_LINES_OF_A_FUNCTION} == {}


def test_every_module_says_what_it_is() -> None:
    assert [name for name, module in modules().items() if not ast.get_docstring(module.tree)] == []


def says_nothing(name: str) -> bool:
    return name.lower().removesuffix("s") in SAY_NOTHING


def test_no_file_has_a_name_that_says_nothing() -> None:
    scripts = [path for path in project_files() if path.suffix == ".py"]
    assert len(scripts) > len(modules())
    assert [path for path in scripts if says_nothing(path.stem)] == []


def test_no_class_has_a_name_that_says_nothing() -> None:
    classes = [
        node.name for module in modules().values() for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)
    ]
    last_words = {name: re.findall(r"[A-Z][a-z]*|[a-z]+", name)[-1] for name in classes}
    assert [name for name, word in last_words.items() if says_nothing(word)] == []


# Invented users of examples and tests. Any other home directory belongs to a real person.
INVENTED = {"dev"}
HOME = re.compile(r"(?:/home|/Users)/([A-Za-z][\w.-]*)|(/root)/")
NEIGHBOUR = "../" + "shared"


def belongs_to_one_machine(text: str) -> list[str]:
    homes = [found.group() for found in HOME.finditer(text) if found.group(1) not in INVENTED]
    return homes + [NEIGHBOUR] * (NEIGHBOUR in text)


PLACES = [
    ("/home/dev/src", []), ("/home/eve/src", ["/home/eve"]), ("/Users/eve", ["/Users/eve"]),
    ("/ro" "ot/x", ["/ro" "ot/"]), ("the /home directory", []), (NEIGHBOUR, [NEIGHBOUR]),
]  # fmt: skip


def test_a_path_of_one_machine_is_known_when_it_is_seen() -> None:
    assert [(text, belongs_to_one_machine(text)) for text, _ in PLACES] == PLACES


def test_no_file_names_a_place_that_only_one_machine_has() -> None:
    found = {}
    for path in project_files():
        if path != Path(__file__) and (places := belongs_to_one_machine(path.read_text("utf-8", "replace"))):
            found[str(path.relative_to(ROOT))] = places
    assert found == {}


def test_the_format_of_a_store_is_the_number_of_its_newest_schema() -> None:
    numbers = [path.stem for path in sorted((PACKAGE / "journal" / "sqlite" / "schema").glob("*.sql"))]
    assert numbers == [f"{number:04d}" for number in range(1, connection.FORMAT + 1)]
