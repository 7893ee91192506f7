"""The command line: ``hi2 VERB``, one module per verb.

Results go to standard output, progress and errors to standard error. A command that fails prints one line and exits
with code 2; ``--debug`` shows the traceback.
"""

from __future__ import annotations

import re
import sys
import traceback
from io import TextIOWrapper
from typing import Any, NoReturn

import typer

from hi2.cli import (
    add,
    build,
    delete,
    evaluate,
    experiment,
    explain,
    info,
    mcp,
    merge,
    quickstart,
    search,
    serve,
    train,
    tune,
    verify,
)
from hi2.cli.options import settings
from hi2.cli.wording import as_options
from hi2.errors import Error
from hi2.version import __version__

app = typer.Typer(
    name="hi2",
    help="Search by meaning and words in one pass. Try: hi2 quickstart",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_INTERRUPT_EXIT_CODE = 130  # returned by typer after Ctrl-C


def _version(show: bool) -> None:
    if show:
        typer.echo(f"hi2 {__version__}")
        raise typer.Exit


@app.callback()
def common(
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print results and errors only."),
    debug: bool = typer.Option(False, "--debug", help="Show tracebacks of errors."),
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Store the options that every command shares."""
    settings.quiet, settings.debug = quiet, debug


_LEARNING = (tune, train, evaluate, experiment)
for verb in (quickstart, build, add, delete, search, explain, info, verify, merge, *_LEARNING, serve, mcp):
    name = verb.__name__.rsplit(".", 1)[1]
    app.command(name="eval" if verb is evaluate else name)(verb.run)  # the module is not called eval, a builtin


def _shared_options_first(arguments: list[str]) -> list[str]:
    """Return the arguments with the shared options moved before the verb."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    shared = [argument for argument in arguments[:end] if argument in ("--quiet", "-q", "--debug")]
    return shared + [argument for argument in arguments[:end] if argument not in shared] + arguments[end:]


#: A query that begins with a sign: "-40", "-40 degrees", "-mouse stem cells", "-- or not".
_SIGNED_TEXT = re.compile(r"-\d|-[^-=]*\s|--\s")


def _texts_as_texts(arguments: list[str]) -> list[str]:
    """Return the arguments of a search with a space before a query that begins with a sign, which is no option."""
    verb = next((argument for argument in arguments if not argument.startswith("-")), None)
    if verb not in ("search", "explain"):
        return arguments
    end = arguments.index("--") if "--" in arguments else len(arguments)
    texts = [f" {argument}" if _SIGNED_TEXT.match(argument) else argument for argument in arguments[:end]]
    return texts + arguments[end:]


def main() -> None:
    """Run the command line. An error is one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # print a replacement for characters the terminal cannot show
    try:
        code = app(_shared_options_first(_texts_as_texts(sys.argv[1:])), prog_name="hi2", standalone_mode=False) or 0
        if code == _INTERRUPT_EXIT_CODE:
            raise KeyboardInterrupt
        sys.exit(code)
    except typer.Exit as done:
        sys.exit(done.exit_code)
    except (KeyboardInterrupt, typer.Abort) as error:
        exit_with_error(error, "interrupted; nothing half-written was left behind")
    except (Error, OSError) as error:
        exit_with_error(error, as_options(str(error), _parameters(sys.argv[1:])))
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error raised by typer
            if not error.format_message():  # there were no arguments, so the help was shown
                sys.exit(2)
            exit_with_error(error, f"{error.format_message()} See hi2 --help.")
        exit_with_error(error, f"an error that is not yours: {type(error).__name__}: {error}. --debug shows where.")


def _parameters(arguments: list[str]) -> set[str]:
    """The options of the command that the arguments name; what is positional is no option."""
    commands: dict[str, Any] = getattr(typer.main.get_command(app), "commands", {})
    verb = next((commands[argument] for argument in arguments if argument in commands), None)
    options = [] if verb is None else [own for own in verb.params if own.param_type_name == "option"]
    return {own.name for own in options if not own.is_flag}


def exit_with_error(error: BaseException, message: str) -> NoReturn:
    """Print the error in one line and exit with code 2."""
    if settings.debug:
        traceback.print_exception(error)
    typer.echo(f"hi2: {' '.join(message.split())}", err=True)
    sys.exit(2)
