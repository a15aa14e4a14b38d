"""Wrong uses of the command line, and code of the user's that fails: a line, exit code 2."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.gradc.command_line import SPEC, in_a_folder_with_a_model, run


@pytest.fixture(autouse=True)
def a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_folder_with_a_model(tmp_path, monkeypatch)


BROKEN = {
    "syntax.py": "def f(:\n",
    "raises.py": 'def g():\n    raise ValueError("no data")\n\n\ng()\n',
    "imports.py": "import nowhere_to_be\n",
    "exits.py": "import sys\nsys.exit(3)\n",
    "zeros.py": "\0",
    "forever.py": "def f(x):\n    return f(x)\n",
    "inner.py": 'def f(x):\n    return {}["k"]\n',
    "stops.py": "raise KeyboardInterrupt\n",
    "seeds.py": "import numpy\nnumpy.random.default_rng(-1)\n",
    "calls.py": """import math

import numpy as np


def length(x):
    return len(3) * x


def number(x):
    return float("three") * x


def root(x):
    return math.sqrt("four") * x


def memory(x):
    return np.zeros((10**6, 10**6)) * x
""",
    "undefined.ir": "func @f(%x: f64) -> f64 {\n  return %y\n}\n",
    "later.ir": "# gradc ir 2\n",
    "other.ir": "hello\n",
    "empty.ir": "",
}
NO_DATA = 'raises.py:2 in g: ValueError: no data  in: raise ValueError("no data")\n'
WRONG = [
    # arguments, exit code, a part of what is said
    ("dump model.py:loss --spec {spec} -o /nonexistent/x", 2, "cannot write to /nonexistent/x: No"),
    ("dump model.py:loss --spec {spec} -o .", 2, "cannot write to .: Is a directory"),
    ("explain model.py:loss --spec {spec} -o /nonexistent/x", 2, "cannot write to /nonexistent/x"),
    ("dump model.py:loss --spec {spec} --of grad --wrt ,", 2, "it names no parameter"),
    ("dump model.py:loss --spec {spec} --of grad --wrt z", 2, "no parameter 'z'"),
    ("dump model.py:loss --spec {spec} --stage nothing", 2, "'nothing' is not one of"),
    ("dump model.py:loss --spec {spec} --after nothing", 2, "no pass called 'nothing'"),
    ("dump model.py:loss --spec {spec} --stage asm --cpu nothing", 2, "no CPU 'nothing'"),
    ("dump model.py:loss --spec x:f64[n", 2, "expected ], found the end of the text"),
    ("dump model.py:loss.x", 2, "model.py:loss has no 'x'"),
    ("dump model.py:nothing", 2, "model.py has no 'nothing'; its functions: "),
    ("dump .:f", 2, "'.' is no name of a module, and no Python file"),
    ("dump ..model:f", 2, "'..model' is no name of a module, and no Python file"),
    ("dump nowhere_to_be:f", 2, "no module called nowhere_to_be"),
    ("dump folder.py:f", 2, "cannot read folder.py: Is a directory"),
    ("dump syntax.py:f", 2, "Error: syntax.py:1: SyntaxError: invalid syntax  in: def f(:\n"),
    ("dump syntax:f", 2, "Error: syntax.py:1: SyntaxError: invalid syntax  in: def f(:\n"),
    ("dump zeros.py:f", 2, "Error: zeros.py: SyntaxError: source code string cannot"),
    ("dump raises.py:f", 2, NO_DATA),
    ("dump raises:f", 2, NO_DATA),
    ("explain raises.py:f", 2, NO_DATA),
    ("doctor raises.py:f", 2, NO_DATA),
    ("check raises.py:f", 2, NO_DATA),
    ("export raises.py:f", 2, NO_DATA),
    ("rules verify raises.py", 2, NO_DATA),
    ("dump imports.py:f", 2, "imports.py:1: ModuleNotFoundError: No module named 'nowhere_to_be'"),
    ("dump imports:f", 2, "imports.py:1: ModuleNotFoundError: No module named 'nowhere_to_be'"),
    ("dump exits.py:f", 2, "ended the program when it was imported (sys.exit, exits.py:2)"),
    ("dump forever.py:f --spec x:f64", 2, "forever.py:2 in f: RecursionError: maximum recursion"),
    ("dump inner.py:f --spec x:f64", 2, "inner.py:2 in f: KeyError: 'k'  in: return {}["),
    ("dump stops.py:f", 130, ""),
    ("dump seeds.py:f", 2, "seeds.py:2: ValueError: expected non-negative integer"),
    ("dump model.py:loss --spec {spec} --of grad --wrt ²", 2, "no parameter '²'"),
    ("dump model.py:loss --spec {spec} --of grad --wrt --1", 2, "no parameter '--1'"),
    ("export model.py:loss --spec {spec} --wrt " + 5000 * "9", 2, "no parameter '999"),
    ("check model.py:loss --spec {spec} --size -1", 2, "'--size': -1 is not in the range x>=0."),
    ("check model.py:loss --spec {spec} --size 1e3", 2, "'--size': '1e3' is not a valid integer"),
    ("check model.py:loss --spec {spec} --size 99999999999999", 2, "every symbolic size are too"),
    ("check model.py:loss --spec {spec} --size " + 30 * "9", 2, "every symbolic size are too"),
    ("check model.py:loss --spec {spec} --order 0", 2, "'--order': 0 is not in the range x>=1."),
    ("check model.py:loss --spec {spec} --repeat 0", 2, "'--repeat': 0 is not in the range x>=1."),
    ("check model.py:loss --spec {spec} --seed -1", 2, "'--seed': -1 is not in the range x>=0."),
    ("check model.py:loss --accuracy --points 0", 2, "'--points': 0 is not in the range x>=1."),
    ("check model.py:loss --accuracy --max-bits -1", 2, "'--max-bits': -1.0 is not in the range"),
    ("check model.py:loss --accuracy --max-bits nan", 2, "'--max-bits': nan is no bound"),
    ("check model.py:loss --accuracy --range x=nan:1", 2, "'x=nan:1' is no range"),
    ("check model.py:loss --accuracy --range x=1:nan", 2, "'x=1:nan' is no range"),
    ("rules show nothing", 2, "no rule is called 'nothing'"),
    ("rules verify nothing", 2, "no rule is called 'nothing'"),
    ("rules verify folder.py", 2, "cannot read folder.py: Is a directory"),
    ("rules list --family nothing", 2, "no family of rules is called 'nothing'"),
    ("rules --kind nothing", 2, "'nothing' is not one of"),
    ("passes --nothing", 2, "No such option"),
    ("dump calls.py:length --spec x:f64", 2, "calls.py:7 in length: TypeError: object of type"),
    ("dump calls.py:number --spec x:f64", 2, "calls.py:11 in number: ValueError: could not"),
    ("dump calls.py:root --spec x:f64", 2, "calls.py:15 in root: TypeError: must be real number"),
    ("cost calls.py:memory --spec x:f64", 2, "calls.py:19 in memory: numpy._core._exceptions"),
    ("bench calls.py:memory --spec x:f64", 2, "calls.py:19 in memory: numpy._core._exceptions"),
    ("dump model.py:loss --spec {spec} --format svg --stage asm", 2, "--format svg is of a graph"),
    ("dump model.py:loss --spec {spec} --json --after fold", 2, "--format json is of a graph"),
    ("dump model.py:loss --spec {spec} --stage asm --target x", 2, "no kernels are written"),
    ("opt undefined.ir", 2, "ParseError: %y is not defined\n  line 2:   return %y\n"),
    ("opt other.ir", 2, "ParseError: expected func, found hello\n"),
    ("opt empty.ir", 2, "ParseError: expected func, found the end of the text\n"),
    ("opt later.ir", 2, "ParseError: the text is of version 2 of the language\n"),
    ("opt nothing.ir", 2, "cannot read nothing.ir: No such file or directory"),
    ("opt folder.py", 2, "cannot read folder.py: Is a directory"),
    ("opt model.py --pass nothing", 2, "ParseError: "),
    ("diff model.py:loss --spec {spec}", 2, "give a second function or file, --passes, or --rev"),
    ("diff model.py:loss --spec {spec} --passes traced", 2, "'--passes' requires 2 arguments."),
    ("diff model.py:loss --spec {spec} --passes traced x", 2, "no pass called 'x' runs here\n"),
    ("diff model.py:loss --spec {spec} --revisions a b", 2, "git rev-parse: fatal: not a git"),
    ("diff model:loss --spec {spec} --revisions a b", 2, "'model:loss' is no file.py:function"),
    ("diff no/m.py:loss --spec {spec} --revisions a b", 2, "no folder /"),
    ("diff undefined.ir empty.ir", 2, "ParseError: %y is not defined"),
    ("cost model.py:loss --spec {spec} --at n", 2, "'n' is no size: write n=1000,d=50. See gradc"),
    ("cost model.py:loss --spec {spec} --at n=²", 2, "'n=²' is no size: write"),
    ("cost model.py:loss --spec {spec} --at m=3", 2, "loss has no size called m\n  its sizes: n"),
    ("cost model.py:loss", 2, "loss: which arguments? There is no spec and no call yet\n"),
    ("bench model.py:loss --spec {spec} --at m=3", 2, "loss has no size called m\n  its sizes: n"),
    ("bench model.py:loss --spec {spec} --at n=" + 15 * "9", 2, "ShapeError: arguments are too"),
    ("explain nothing", 2, "no op is called 'nothing'"),
    ("doctor nothing.py:f", 2, "no file nothing.py"),
    ("nothing", 2, "No such command 'nothing'"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "said"), WRONG, ids=[line for line, *_ in WRONG])
def test_a_wrong_use_is_told_in_a_message(line: str, code: int, said: str) -> None:
    for name, text in BROKEN.items():
        Path(name).write_text(text)
        sys.modules.pop(name.removesuffix(".py"), None)
    Path("folder.py").mkdir()
    result = run(*[part.format(spec=SPEC) for part in line.split(" ")])
    assert result.exit_code == code, (result.output, result.exception)
    assert said in result.output
    assert "Traceback" not in result.output
    lines = result.stderr.splitlines()
    # what gradc says of a function has lines of its own: its error, the user's line, the cure
    assert not lines or not lines[0].startswith("Error: ") or len(lines) == 1
