"""The command line: every command, every option, and the exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gradc.cli.main import COMMANDS, group
from gradc.pipeline import after, before
from gradc.reports.dump import STAGES
from gradc.requests.options import Options
from gradc.requests.request import KINDS
from gradc.rules import EXACT, FAST, STABLE
from gradc_codegen.schedule.passes.prepare import preparation
from tests.gradc.command_line import SPEC, in_a_folder_with_a_model, run, succeed


@pytest.fixture(autouse=True)
def a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_folder_with_a_model(tmp_path, monkeypatch)


def test_help_names_the_commands() -> None:
    text = succeed("--help")
    names = [command.name for command in COMMANDS]
    assert {"doctor", "dump", "diff", "opt", "explain", "check", "bench", "cost"} <= {*names}
    for command in names:
        assert command in text
        assert succeed(command, "--help").startswith(f"Usage: gradc {command}")


def test_version() -> None:
    import gradc

    assert gradc.__version__ in succeed("--version")


def test_doctor_of_a_function_that_is_supported() -> None:
    assert succeed("doctor", "model.py:loss", "--spec", SPEC) == (
        "loss(w: f64[2], x: f64[n,2]): supported\n"
        "value: yes    forward mode: yes    reverse mode: yes\n"
    )
    assert "supported" in succeed("doctor", "model.py:nested")


def test_doctor_lists_every_problem_and_exits_with_one() -> None:
    result = run("doctor", "model.py:refused_twice", "--spec", "x: f64[3]")
    assert result.exit_code == 1
    assert result.stdout.startswith("refused_twice(x: f64[3]): 2 problems\n")
    assert "    y = np.unique(x)\n" in result.stdout
    assert "    return np.spacing(y)\n" in result.stdout
    assert result.stdout.endswith("value: no    forward mode: no    reverse mode: no\n")


def test_doctor_without_a_spec_is_a_wrong_use() -> None:
    assert run("doctor", "model.py:loss").exit_code == 2


@pytest.mark.parametrize("stage", STAGES)
def test_dump_at_each_stage(stage: str) -> None:
    text = succeed("dump", "model.py:loss", "--spec", SPEC, "--of", "grad", "--stage", stage)
    sign = {"loops": "for", "llvm": "define", "asm": ".text"}.get(stage, "func @loss")
    assert sign in text
    assert text.endswith("\n")


@pytest.mark.parametrize("kind", KINDS)
def test_dump_of_each_kind(kind: str) -> None:
    text = succeed("dump", "model.py:loss", "--spec", SPEC, "--of", kind)
    assert text.count("func @") == 1
    assert "model.py:8" in text


def test_dump_without_locations() -> None:
    text = succeed("dump", "model.py:loss", "--spec", SPEC, "--no-locations")
    assert "model.py" not in text


def test_dump_to_a_file() -> None:
    assert succeed("dump", "model.py:loss", "--spec", SPEC, "-o", "loss.ir") == ""
    assert Path("loss.ir").read_text() == succeed("dump", "model.py:loss", "--spec", SPEC)


def test_dump_asm_of_another_cpu() -> None:
    text = succeed("dump", "model.py:loss", "--spec", SPEC, "--stage", "asm", "--cpu", "x86-64-v3")
    assert "loss" in text


def test_dump_after_all_names_every_step_and_shows_what_changed() -> None:
    text = succeed("dump", "model.py:loss", "--spec", SPEC, "--of", "grad", "--after", "all")
    heads = re.findall("^## (.*): (?:[0-9]+ nodes|nothing changed)$", text.replace("\n##   ", " "),
                       re.MULTILINE)  # fmt: skip
    options = Options()
    steps = [
        "traced",
        *(f"before.{step.name}" for step in before(options).passes),
        "derivative",
        *(f"after.{step.name}" for step in after(options).passes),
        *(f"codegen.{step.name}" for step in preparation().passes),
    ]
    assert ", ".join(heads).split(", ") == steps
    assert "## before.stabilise: 5 nodes\n+ return sum(softplus(x @ w))\n## before.narrow, " in text


def test_dump_after_one_pass() -> None:
    text = succeed(
        "dump", "model.py:loss", "--spec", SPEC, "--of", "grad", "--after", "canonicalize"
    )
    heads = [line.partition(":")[0] for line in text.splitlines() if line.startswith("## ")]
    assert heads == ["## before.canonicalize", "## after.canonicalize"]
    result = run("dump", "model.py:loss", "--spec", SPEC, "--after", "folding")
    assert result.exit_code == 2
    assert "no pass called 'folding' runs here" in result.output


def test_dump_by_other_parameters() -> None:
    by_name = succeed("dump", "model.py:loss", "--spec", SPEC, "--of", "grad", "--wrt", "x")
    assert by_name == succeed("dump", "model.py:loss", "--spec", SPEC, "--of", "grad", "--wrt", "1")
    assert "-> f64[n,2]" in by_name
    both = succeed("dump", "model.py:loss", "--spec", SPEC, "--of", "grad", "--wrt", "w,x")
    assert "-> (f64[2], f64[n,2])" in both


def test_the_spec_of_the_decorator_is_used() -> None:
    text = succeed("dump", "model.py:nested", "--of", "grad", "--wrt", "p")
    assert "%p.a: f64" in text
    assert "%p.b: f64[n]" in text


def test_a_module_on_the_path() -> None:
    assert "softplus" in succeed("dump", "model:loss", "--spec", SPEC)


def test_explain_names_the_rule_and_the_line() -> None:
    text = succeed("explain", "model.py:loss", "--spec", SPEC, "--of", "grad")
    assert "model.py:8" in text
    assert "softplus" in text or "log1p" in text
    succeed("explain", "model.py:loss", "--spec", SPEC, "-o", "why.txt")
    assert "model.py:8" in Path("why.txt").read_text()


def test_explain_an_op() -> None:
    text = succeed("explain", "log1p")
    assert "natural logarithm of one plus x" in text
    assert run("explain", "no_such_op").exit_code == 2


def test_check() -> None:
    assert succeed("check", "model.py:loss", "--spec", SPEC).startswith("ok model.py:loss")
    options = ["--size", "3", "--seed", "4", "--order", "2", "--repeat", "2"]
    text = succeed("check", "model.py:loss", "--spec", SPEC, *options)
    assert re.search(r"^2 +ct0 +result 0 +reverse mode +forward mode", text, re.MULTILINE)
    assert re.search(r"^the exported C kernel +the same$", text, re.MULTILINE)
    result = run("check", "model.py:wrong", "--spec", "x: f64")
    assert result.exit_code == 1
    assert result.output.startswith("FAILED model.py:wrong\n")
    assert result.output.endswith("found:    7.0\n")


def test_a_check_of_zeros_proves_nothing() -> None:
    Path("flat.py").write_text(
        "import numpy as np\n\n\ndef flat(x):\n    return np.sum(np.maximum(x, 1e6))\n\n\n"
        "def whole(n):\n    return np.sum(n)\n"
    )
    result = run("check", "flat.py:flat", "--spec", "x: f64[3]")
    assert result.exit_code == 1
    assert result.output.startswith("NOTHING PROVED flat.py:flat\n")
    assert re.search(r"^1 +x +result +forward mode .* 0 = 0$", result.output, re.MULTILINE)
    assert "all of them are 0 at these arguments" in result.output
    result = run("check", "flat.py:whole", "--spec", "n: i64[3]")
    assert result.exit_code == 1
    assert "takes or returns no floating-point numbers" in result.output


def test_a_check_of_sizes_that_belong_together() -> None:
    Path("sizes.py").write_text(
        "import numpy as np\n\n\ndef ratio(x, theta):\n    return np.sum(x / theta[:3])\n"
    )
    text = succeed("check", "sizes.py:ratio", "--spec", "x: f64[5,3], theta: f64[4]")
    assert text.startswith("ok sizes.py:ratio\n")
    assert re.search(r"^a kernel of symbolic sizes +not compared: its sizes", text, re.MULTILINE)


def test_export_writes_an_object_and_a_header() -> None:
    text = succeed("export", "model.py:loss", "--spec", SPEC)
    assert [Path(line).name for line in text.splitlines()] == ["loss.o", "loss.h"]
    assert Path("loss.o").read_bytes()[:4] == b"\x7fELF"
    header = Path("loss.h").read_text()
    assert "int loss(" in header
    assert "int loss_vg(" in header
    assert "loss_vg_worksize(" in header


def test_export_with_a_name_a_folder_a_cpu_and_parameters() -> None:
    succeed(
        *("export", "model.py:loss", "--spec", SPEC, "--name", "fit", "--out", "build"),
        *("--cpu", "x86-64-v4", "--wrt", "x"),
    )
    assert "int fit_vg(" in Path("build/fit.h").read_text()
    assert Path("build/fit.o").exists()


def test_export_for_another_target() -> None:
    succeed(
        *("export", "model.py:loss", "--spec", SPEC, "--target", "aarch64-unknown-linux-gnu"),
        *("--cpu", "generic"),
    )
    machine = Path("loss.o").read_bytes()[18]
    assert machine == 0xB7  # EM_AARCH64


def test_export_under_a_name_that_is_none_in_c() -> None:
    result = run("export", "model.py:loss", "--spec", SPEC, "--name", "2x")
    assert result.exit_code == 2
    assert "ExportError" in result.output


def test_passes_lists_the_pipeline() -> None:
    text = succeed("passes")
    for step in (*before(Options()).passes, *after(Options()).passes, *preparation().passes):
        assert step.name in text
        assert step.summary in text


@pytest.mark.parametrize("kind", [None, "exact", "stable", "fast"])
def test_rules_are_listed_by_class(kind: str | None) -> None:
    text = succeed("rules", *(["--kind", kind] if kind else []))
    for name, listed in (("exact", EXACT), ("stable", STABLE), ("fast", FAST)):
        shown = kind in (None, name)
        assert (f"{name}:\n" in text) == shown
        for rule in listed:
            if shown:
                assert rule.name in text
                assert rule.reason in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dump",), "Missing argument 'MODULE.PY:FUNCTION'"),
        (("dump", "model.py"), "'model.py' does not name a function"),
        (("dump", "other.py:loss"), "no file other.py"),
        (("dump", "no_such_module:loss"), "no module called no_such_module"),
        (("dump", "model.py:lost"), "has no 'lost'; its functions: "),
        (("dump", "model.py:NUMBER"), "is a int, not a function"),
        (("dump", "model.py:loss"), "which arguments?"),
        (("dump", "model.py:loss", "--spec", "w: f64[2"), "ParseError"),
        (("dump", "model.py:loss", "--spec", "v: f64[2]"), "does not fit loss"),
        (("dump", "model.py:loss", "--spec", SPEC, "--of", "grads"), "'grads' is not one of"),
        (("dump", "model.py:loss", "--spec", SPEC, "--stage", "last"), "'last' is not one of"),
        (
            ("dump", "model.py:loss", "--spec", SPEC, "--of", "grad", "--wrt", "z"),
            "no parameter 'z'",
        ),
        (("dump", "model.py:refused", "--spec", "x: f64"), "model.py:22 in refused"),
        (("rules", "--kind", "slow"), "'slow' is not one of"),
        (("compile",), "No such command 'compile'"),
    ],
)
def test_a_wrong_use_exits_with_two(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_a_real_process() -> None:
    command = [sys.executable, "-m", "gradc", "dump", "model.py:loss", "--spec", SPEC]
    root = Path(__file__).resolve().parents[2]
    paths = [root, root / "ir", root / "codegen"]
    environment = {"PYTHONPATH": ":".join(map(str, paths)), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.startswith(
        "# gradc ir 1\n# model.py:7 loss\nfunc @loss(%w: f64[2], %x: f64[n,2]) -> f64 {"
    )
    assert done.stderr == ""
    done = subprocess.run([*command, "--of", "none"], capture_output=True, env=environment)
    assert done.returncode == 2


def test_every_option_that_is_a_number_has_a_least_value() -> None:
    types = [each.type for command in group.commands.values() for each in command.params]
    numbers = [each for each in types if each.name.startswith(("integer", "float"))]
    assert len(numbers) >= 6
    assert all(isinstance(each, click.IntRange | click.FloatRange) for each in numbers)


def test_a_size_of_zero_is_taken_as_it_is() -> None:
    result = run("check", "model.py:loss", "--spec", "w: f64[2], x: f64[n,2]", "--size", "0")
    assert result.output.startswith("NOTHING PROVED model.py:loss")
    assert result.exit_code == 1


def test_a_defect_of_gradc_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradc.reports.dump.walk", None)
    result = run("dump", "model.py:loss", "--spec", SPEC)
    assert isinstance(result.exception, TypeError)


@pytest.mark.slow
def test_a_reader_that_stops_is_no_error() -> None:
    command = f"{sys.executable} -m gradc rules list | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout.startswith("exact:")
    assert "Traceback" not in done.stderr
