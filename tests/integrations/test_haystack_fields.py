"""The metadata of Haystack documents is described by its fields."""

from __future__ import annotations

from hi2.integrations.haystack_fields import count_unique, fields_info, min_max, unique_values

DOCUMENTS = [
    {"n": 2, "s": "Bo", "t": ["x", "y"], "mixed": 1, "none": None},
    {"n": 1.5, "s": "ada", "t": ["x"], "mixed": "1", "o": {"a": 1}},
    {"n": True, "s": None, "mixed": [2]},
]


def test_every_field_has_a_type():
    types = {name: own["type"] for name, own in fields_info(DOCUMENTS).items()}
    assert types == {"n": "mixed", "s": "keyword", "t": "list", "mixed": "mixed", "none": "null", "o": "object"}
    assert fields_info(DOCUMENTS[:2])["n"] == {"type": "float"}


def test_the_range_of_a_field_is_that_of_its_numbers_or_strings():
    assert min_max(DOCUMENTS, "meta.n") == {"min": 1.5, "max": 2}
    assert min_max(DOCUMENTS, "s") == {"min": "Bo", "max": "ada"}
    assert min_max(DOCUMENTS, "o") == min_max([], "n") == {"min": None, "max": None}


def test_distinct_values_come_in_pages():
    assert unique_values(DOCUMENTS, "t", None, 0, 10) == (["x", "y"], 2)
    values, total = unique_values(DOCUMENTS, "mixed", None, 0, None)
    assert (values, total) == ([1, 2, "1"], 3)
    assert unique_values(DOCUMENTS, "s", "B", 0, 10) == (["Bo"], 1)


def test_distinct_values_are_counted():
    assert count_unique(DOCUMENTS, ["t", "meta.s", "none"]) == {"t": 2, "s": 2, "none": 0}
