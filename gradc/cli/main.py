"""The command ``gradc``: doctor, dump, explain, check, export, passes, rules, cache."""

from __future__ import annotations

import sys

import click

from gradc.cli.cache import cache
from gradc.cli.check import check
from gradc.cli.doctor import doctor
from gradc.cli.dump import dump
from gradc.cli.explain import explain
from gradc.cli.export import export
from gradc.cli.passes import passes
from gradc.cli.rules import rules
from gradc.cli.users_errors import told
from gradc_ir import __version__
from gradc_ir.errors import GradcError


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Compile NumPy functions and their gradients to native code, and look inside.",
)
@click.version_option(__version__, prog_name="gradc")
def group() -> None:
    """Hold the subcommands."""


for command in (doctor, dump, explain, check, export, passes, rules, cache):
    group.add_command(command)


def main() -> None:
    """Run the command line: exit 0 when all is well, 1 when a check fails, 2 for a wrong use."""
    try:
        group.main(prog_name="gradc", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except GradcError as error:
        click.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(2)
    except Exception as error:
        text = told(error)
        if text is None:
            raise
        click.echo(text, err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
