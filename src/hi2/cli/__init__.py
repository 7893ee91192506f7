"""The command line: ``hi2 VERB``, one file for each verb.

Results go to standard output, progress and errors to standard error. A command that is refused prints one line and
exits with 2; ``--debug`` shows the traceback.
"""

from __future__ import annotations

import sys
import traceback
from io import TextIOWrapper
from typing import NoReturn

import typer

from hi2.cli import (
    add,
    build,
    delete,
    evaluate,
    experiment,
    explain,
    info,
    merge,
    quickstart,
    search,
    train,
    tune,
    verify,
)
from hi2.cli.options import settings
from hi2.errors import Error
from hi2.version import __version__

app = typer.Typer(
    name="hi2",
    help="Dense retrieval by embedding clusters and salient terms, scored once. Try: hi2 quickstart",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_INTERRUPTED = 130  # what typer makes of Ctrl-C


def _version(show: bool) -> None:
    if show:
        typer.echo(f"hi2 {__version__}")
        raise typer.Exit


@app.callback()
def common(
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress bars."),
    debug: bool = typer.Option(False, "--debug", help="Show tracebacks of errors."),
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Take the options every command shares."""
    settings.quiet, settings.debug = quiet, debug


for verb in (quickstart, build, add, delete, search, explain, info, verify, merge, tune, train, evaluate, experiment):
    name = verb.__name__.rsplit(".", 1)[1]
    app.command(name="eval" if verb is evaluate else name)(verb.run)  # a module may not be called as a builtin is


def _shared_first(arguments: list[str]) -> list[str]:
    """Return the arguments with the options every command shares before the verb, wherever they were given."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    shared = [argument for argument in arguments[:end] if argument in ("--quiet", "-q", "--debug")]
    return shared + [argument for argument in arguments[:end] if argument not in shared] + arguments[end:]


def main() -> None:
    """Run the command line; refusals are one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows another
    try:
        code = app(_shared_first(sys.argv[1:]), prog_name="hi2", standalone_mode=False) or 0
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(code)
    except typer.Exit as done:
        sys.exit(done.exit_code)
    except (KeyboardInterrupt, typer.Abort) as error:
        refuse(error, "interrupted; nothing half-written was left behind")
    except (Error, OSError) as error:
        refuse(error, str(error))
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error of the command line's own
            if not error.format_message():  # without any argument the help was shown
                sys.exit(2)
            refuse(error, f"{error.format_message()} See hi2 --help.")
        refuse(error, f"an error that is not yours: {type(error).__name__}: {error}. --debug shows where.")


def refuse(error: BaseException, message: str) -> NoReturn:
    """Say in one line why nothing was done."""
    if settings.debug:
        traceback.print_exception(error)
    typer.echo(f"hi2: {' '.join(message.split())}", err=True)
    sys.exit(2)
