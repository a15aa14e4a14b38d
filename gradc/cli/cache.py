"""``gradc cache``: what is kept on disk between processes; to look at it, check it, clear it."""

from __future__ import annotations

import os
import sys

import click

from gradc.cli.frame.output import json_option, write_json
from gradc_codegen.cache import files
from gradc_codegen.cache.folder import folder, is_off, place, why_not
from gradc_codegen.cache.limit import limit


@click.group(short_help="What is kept on disk: info, verify, clear.")
def cache() -> None:
    """Graphs and machine code that are kept on disk, so that another process compiles nothing.

    GRADC_CACHE_DIR says where, GRADC_CACHE=0 that nothing is kept, GRADC_CACHE_MB how much is, and
    GRADC_LOG=cache tells what is found and what is not.
    """


@cache.command(short_help="Where it is, and how much is kept.")
@json_option
def info(as_json: bool) -> None:
    """Print where files are kept, how many, and how many megabytes they take."""
    root = folder()
    every = [] if root is None else list(files.every_file(root))
    kinds = {kind: [names for names in every if names[0] == kind] for kind in ("graphs", "objects")}
    kept = {
        kind: {"files": len(found), "bytes": sum(_size(root, names) for names in found)}
        for kind, found in kinds.items()
    }
    reason = "GRADC_CACHE is 0" if is_off() else why_not()
    if as_json:
        told = {"folder": place() or None, "in_use": not reason, "reason": reason or None}
        write_json("cache", {**told, **kept, "limit": limit()})
        return
    click.echo(f"folder: {place() or 'none: there is no home folder, and no GRADC_CACHE_DIR'}")
    click.echo(f"in use: no, {reason}" if reason else "in use: yes")
    for kind, found in kept.items():
        click.echo(f"{kind + ':':8}{found['files']:6} files, {found['bytes'] / 1e6:.1f} MB")
    click.echo(f"at most: {limit() / 1e6:.0f} MB")


@cache.command(short_help="Check every file; remove those that are damaged.")
@json_option
def verify(as_json: bool) -> None:
    """Check that every file is as it was written; remove others. Exits with 1 if there were any."""
    root = folder()
    every = [] if root is None else list(files.every_file(root))
    bad = [names for names in every if not _is_whole(root, names)]
    for names in bad:
        files.drop(*names)
    if as_json:
        write_json("cache", {"whole": len(every) - len(bad), "removed": ["/".join(x) for x in bad]})
    else:
        for names in bad:
            click.echo(f"damaged, removed: {'/'.join(names)}")
        click.echo(f"{len(every) - len(bad)} files are as they were written")
    sys.exit(1 if bad else 0)


@cache.command(short_help="Remove all that is kept.")
@json_option
def clear(as_json: bool) -> None:
    """Remove every file that is kept; what is compiled in running processes stays."""
    root = folder()
    found = [] if root is None else list(files.every_file(root))
    for names in found:
        files.drop(*names)
    if as_json:
        write_json("cache", {"removed": ["/".join(names) for names in found]})
    else:
        click.echo(f"removed {len(found)} files")


def _size(root: str | None, names: tuple[str, ...]) -> int:
    try:
        return os.stat(os.path.join(root or "", *names)).st_size
    except OSError:
        return 0  # another process has removed it


def _is_whole(root: str | None, names: tuple[str, ...]) -> bool:
    try:
        return files.is_whole(root or "", *names)
    except FileNotFoundError:
        return True  # another process has removed it
    except OSError:
        return False
