"""Ids are integers or strings and nothing else."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from hi2.server.schema import Document


@pytest.mark.parametrize("id", [3, "3", 0, 2**63 - 1])
def test_ids(id):
    own = Document(id=id)
    assert own.id == id
    assert type(own.id) is type(id)


@pytest.mark.parametrize("id", [True, 1.5, -1, 2**63, None, [1]])
def test_what_is_no_id(id):
    with pytest.raises(ValidationError):
        Document(id=id)
