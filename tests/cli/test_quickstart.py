"""``hi2 quickstart`` answers questions about Python."""

from __future__ import annotations

from commands import run


def test_quickstart_answers():
    done = run("quickstart", "--no-interactive")
    assert "agreement@10" in done.stdout
    assert "builtins.list.reverse" in done.stdout
    assert "threading.Thread.join" in done.stdout
    assert "zipfile.ZipFile.infolist" in done.stdout
    done = run("quickstart", "--interactive", stdin="parse a [/json] document")  # the input ends without a newline
    assert "json." in done.stdout.split("Your turn")[1]
