"""What can go wrong: the tree, its exit codes, its names, and failed system calls in words."""

from __future__ import annotations

import errno
import os
import re

import pytest

from holdfast.core import errors
from holdfast.core.errors import HoldfastError, Trouble, from_os_error

# name: (parent, exit code, kind)
TREE = {
    "HoldfastError": ("Exception", 1, "holdfast_error"),
    "Refused": ("HoldfastError", 1, "refused"),
    "Fenced": ("Refused", 1, "fenced"),
    "Ambiguous": ("Refused", 1, "ambiguous"),
    "NotAProject": ("Refused", 1, "not_a_project"),
    "Trouble": ("Refused", 1, "trouble"),
    "WorkflowError": ("Refused", 1, "workflow_error"),
    "WrongUsage": ("HoldfastError", 2, "wrong_usage"),
    "Bug": ("HoldfastError", 3, "bug"),
    "NotFound": ("HoldfastError", 10, "not_found"),
    "Busy": ("HoldfastError", 11, "busy"),
    "Damaged": ("HoldfastError", 12, "damaged"),
    "Interrupted": ("HoldfastError", 130, "interrupted"),
}


def family(parent: type[HoldfastError]) -> list[type[HoldfastError]]:
    """A class and all that come from it, which were defined in `errors`."""
    children = [child for child in parent.__subclasses__() if child.__module__ == errors.__name__]
    return [parent, *(found for child in children for found in family(child))]


def test_the_tree_is_the_one_that_is_documented() -> None:
    found = {kind.__name__: (kind.__bases__[0].__name__, kind.code, kind("x").kind) for kind in family(HoldfastError)}
    assert found == TREE


def test_the_docstring_draws_every_class_with_its_exit_code_below_its_parent() -> None:
    drawn = re.findall(r"^( *)(\w+) +(\d+)", errors.__doc__ or "", re.MULTILINE)
    assert {name: int(code) for _, name, code in drawn} == {name: code for name, (_, code, _) in TREE.items()}
    depths = {name: len(indent) // 2 for indent, name, _ in drawn}
    assert all(depths[name] == depths[parent] + 1 for name, (parent, _, _) in TREE.items() if parent in TREE)


def test_the_exit_codes_that_belong_to_no_class_are_these() -> None:
    assert (errors.DONE, errors.FAILED, errors.INTERRUPTED) == (0, 1, 130)


@pytest.mark.parametrize("kind", family(HoldfastError))
def test_an_error_has_a_message_facts_in_order_and_hints(kind: type[HoldfastError]) -> None:
    error = kind("It went wrong", [("b", 2), ("a", None)], (hint for hint in ["do this"]))
    assert (error.message, str(error)) == ("It went wrong", "It went wrong")
    assert (error.facts, error.hints) == ([("b", "2"), ("a", "None")], ["do this"])
    assert (kind("x").facts, kind("x").hints) == ([], [])


NAMED = [
    "ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "EMFILE", "ENFILE", "EIO", "EFBIG", "ENAMETOOLONG", "ELOOP",
    "ENOTDIR",
]  # fmt: skip


def test_these_failures_of_the_system_have_a_remedy() -> None:
    assert {errno.errorcode[number] for number in errors.REMEDIES} == set(NAMED)


@pytest.mark.promise(5)
@pytest.mark.parametrize("name", NAMED)
def test_a_known_failure_is_one_sentence_with_the_path_and_a_remedy(name: str) -> None:
    number = getattr(errno, name)
    found = from_os_error(OSError(number, os.strerror(number), "/project/journal.db"))
    assert isinstance(found, Trouble)
    assert found.code == 1
    assert found.facts == [("path", "/project/journal.db"), ("error", f"errno {number}")]
    assert (found.message, found.hints[0]) == errors.REMEDIES[number]
    assert re.fullmatch(r"[A-Z][^.\n]+", found.message)
    assert found.hints[0]


def test_no_two_failures_have_the_same_sentence() -> None:
    assert len({sentence for sentence, _ in errors.REMEDIES.values()}) == len(errors.REMEDIES)


@pytest.mark.parametrize(
    ("error", "message", "facts"),
    [(OSError(errno.EXDEV, "Invalid cross-device link", "/x"), "Invalid cross-device link",
      [("path", "/x"), ("error", f"errno {errno.EXDEV}")]),
     (OSError(9999, "Strange"), "Strange", [("error", "errno 9999")]),
     (OSError("no number"), "The system call failed", [("error", "errno None")]),
     (OSError(), "The system call failed", [("error", "errno None")])],
)  # fmt: skip
def test_an_unknown_failure_keeps_the_words_of_the_system(
    error: OSError, message: str, facts: list[tuple[str, str]]
) -> None:
    found = from_os_error(error)
    assert (found.message, found.facts, found.hints) == (message, facts, [])
