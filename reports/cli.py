"""The entry point: whatever happens becomes one line and an exit code, never a traceback.

Exit codes: 0 fine, 1 mismatch, 2 usage, 3 tool failed, 130 interrupted. Everything heavy is
imported inside the guard, so that Ctrl-C during start-up is a clean end too.
"""

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn, TextIO

DEBUG_VARIABLE = "FMACOST_DEBUG"
COMPLETE_VARIABLE = "_FMACOST_COMPLETE"  # set by what --install-completion puts into a shell
OK, MISMATCH, USAGE, TOOL_FAILED, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 3, 130, 141


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    signal.signal(signal.SIGTERM, _end)
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; what goes wrong is one line on stderr."""
    try:
        code = _invoke(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _silence(sys.stdout)
        return BROKEN_PIPE
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        return _fail(*_explain(error))
    return code


def _invoke(arguments: list[str]) -> int:
    import typer

    from fmacost.reports.commands import app

    command = typer.main.get_command(app)
    if instruction := os.environ.get(COMPLETE_VARIABLE):
        from typer.completion import shell_complete

        return shell_complete(command, {}, "fmacost", COMPLETE_VARIABLE, instruction)
    try:
        with command.make_context("fmacost", arguments) as context:
            command.invoke(context)
    except typer.Exit as leave:
        return leave.exit_code
    return OK


def _explain(error: Exception) -> tuple[str, int]:
    """Return the line that a user reads, and the exit code."""
    if isinstance(error, ModuleNotFoundError):
        return (
            f"the installation is not complete: {error} (make setup, or pip install .)",
            TOOL_FAILED,
        )
    import typer

    from fmacost.hw.liberty import LibertyError
    from fmacost.hw.technology import TechnologyError
    from fmacost.hw.yosys import YosysError
    from fmacost.reports.errors import InputError, SweepError
    from fmacost.sim.formats import FormatError
    from fmacost.sim.operation import OperationError

    if isinstance(error, typer.TyperException):
        return _usage(error), error.exit_code
    if isinstance(
        error, InputError | FormatError | OperationError | TechnologyError | LibertyError
    ):
        return str(error), USAGE
    if isinstance(error, YosysError | SweepError):
        return str(error), TOOL_FAILED
    if isinstance(error, OSError):
        return str(error), TOOL_FAILED
    hint = f"(set {DEBUG_VARIABLE}=1 to see where)"
    return f"internal error: {type(error).__name__}: {error} {hint}", TOOL_FAILED


def _usage(error: Exception) -> str:
    text = getattr(error, "format_message", lambda: str(error))().replace(": Value error, ", ": ")
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "fmacost")
    return f"{text.rstrip('.')}; '{command} --help' explains"


def _fail(text: str, code: int) -> int:
    from fmacost.reports.errors import printable

    line = printable(" ".join(text.split()))
    try:
        prefix = "" if code == INTERRUPTED else "fmacost: "
        sys.stderr.write(f"{prefix}{line}\n")
        sys.stderr.flush()
        sys.stdout.flush()
    except (OSError, ValueError):
        _silence(sys.stdout)
    return code


def _silence(stream: TextIO) -> None:
    """Point a stream that nobody reads at nothing, so that closing it raises no more."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
    except (OSError, ValueError):
        pass


def _end(signum: int, frame: FrameType | None) -> NoReturn:
    """End as if interrupted, so that children are ended and temporary files removed."""
    raise SystemExit(128 + signum)


if __name__ == "__main__":
    main()
