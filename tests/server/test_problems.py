"""Each error has a status, and only what concerns the client is said."""

from __future__ import annotations

import errno

import pytest

import hi2
from hi2.server.admission import Overloaded
from hi2.server.collection import Conflict, NoSuchCollection
from hi2.server.problems import Refused, refusal


def caused(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (Refused(418, "so"), 418, "so"),
        (Overloaded(), 429, "busy"),
        (NoSuchCollection("There is none."), 404, "none"),
        (Conflict("It is there."), 409, "there"),
        (hi2.InvalidParameter("The 'k' parameter must be 1."), 400, "'k'"),
        (hi2.Locked("/secret/path is locked"), 409, "Another process"),
        (hi2.ReadOnly("/secret/path"), 403, "read only"),
        (hi2.FormatError("/secret/path is damaged"), 500, "log"),
        (OSError(errno.ENOSPC, "No space left"), 507, "disk is full"),
        (caused(hi2.Error("The commit to /secret/path failed"), OSError(errno.ENOSPC, "x")), 507, "disk is full"),
        (PermissionError(13, "denied", "/secret/path"), 500, "log"),
        (RuntimeError("/secret/path"), 500, "log"),
    ],
)
def test_statuses(error, status, said):
    found = refusal(error)
    assert found.status == status
    assert said in found.detail
    assert "secret" not in found.detail


def test_a_busy_server_says_when_to_come_again():
    assert refusal(Overloaded()).headers == {"retry-after": "1"}
