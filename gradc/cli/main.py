"""The command ``gradc``: its commands, and how each of them ends."""

from __future__ import annotations

import os
import sys

import click

from gradc.cli.bench import bench
from gradc.cli.cache import cache
from gradc.cli.check import check
from gradc.cli.cost import cost
from gradc.cli.diff import diff
from gradc.cli.doctor import doctor
from gradc.cli.dump import dump
from gradc.cli.explain import explain
from gradc.cli.export import export
from gradc.cli.frame.failure import Failure, tell, tell_use
from gradc.cli.frame.output import wants_colour
from gradc.cli.frame.users_errors import is_users_exit, told
from gradc.cli.opt import opt
from gradc.cli.passes import passes
from gradc.cli.rules import rules
from gradc_ir import __version__
from gradc_ir.errors import GradcError

COMMANDS = (doctor, dump, diff, opt, explain, check, bench, cost, export, passes, rules, cache)


class _Group(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names as they are listed: from the first look to the kernel."""
        return list(self.commands)


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Compile NumPy functions and their gradients to native code, and look inside.",
    epilog="Exit codes: 0 when all is well, 1 when a check fails or two things differ, 2 for a "
    "wrong use or an error of the user's code, told on standard error. docs/command-line.md has "
    "more.",
)
@click.version_option(__version__, prog_name="gradc")
@click.pass_context
def group(context: click.Context) -> None:
    """Hold the subcommands."""
    context.color = wants_colour()


for command in COMMANDS:
    group.add_command(command)


def main() -> None:
    """Run the command line: exit 0 when all is well, 1 when a check fails, 2 for a wrong use."""
    try:
        code = group.main(prog_name="gradc", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        tell_use(error)
        sys.exit(2)
    except Failure as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        tell(error.format_message())
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except GradcError as error:
        click.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        _end_quietly()
    except SystemExit as error:
        if type(sys.stdout).__name__ == "PacifyFlushWrapper":
            _end_quietly()  # click met the closed pipe
        if not is_users_exit(error):
            raise
        tell(f"{told(error)}  the program was asked to end: leave sys.exit out of the function")
        sys.exit(2)
    except BaseException as error:
        text = told(error)
        if text is None:
            raise
        tell(text)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def _end_quietly() -> None:
    """End when who reads the output has seen enough, which is no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(0)


if __name__ == "__main__":
    main()
