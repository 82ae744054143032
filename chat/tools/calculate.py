"""Work out an arithmetic expression, exactly where decimals allow it.

expression -> value.  Touches: nothing (pure).
"""

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from pydantic import Field

from chat.errors import ToolFailed
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext

LARGEST = 10**15  # of a power's result; larger ones could take minutes and megabytes
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": math.sqrt, "abs": abs, "round": round, "min": min, "max": max, "floor": math.floor, "ceil": math.ceil,
    "log": math.log, "log10": math.log10, "exp": math.exp, "sin": math.sin, "cos": math.cos, "tan": math.tan,
}  # fmt: skip
NAMES = {"pi": math.pi, "e": math.e}
PLAIN = str.maketrans({"×": "*", "÷": "/", "−": "-", "，": ",", "（": "(", "）": ")", "^": "**", "＊": "*"})


class CalculateArgs(Args):
    expression: str = Field(description="e.g. 17 * 23", min_length=1, max_length=500)


async def run(args: CalculateArgs, ctx: ToolContext) -> Done:
    text = args.expression.translate(PLAIN).rstrip("=").strip()
    try:
        value = _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError) as fault:
        raise ToolFailed(
            f"{args.expression!r} is no arithmetic expression.",
            next="Use numbers, + - * / % ** and brackets.",
            mend=True,
        ) from fault
    except ZeroDivisionError as fault:
        raise ToolFailed("The expression divides by zero.", next="Check the numbers.", mend=True) from fault
    except (ValueError, OverflowError, TypeError) as fault:
        raise ToolFailed(f"The expression has no value: {fault}.", next="Check the numbers.", mend=True) from fault
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST:
        value = int(value)
    return Done(data={"expression": text, "value": value}, summary=f"{text} = {value}", text=f"{text} = {value}")


def _value(node: ast.expr) -> Any:
    """Only numbers, the listed operators and functions; everything else is refused."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name) if name in NAMES:
            return NAMES[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return BINARY[type(op)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*map(_value, args))
    raise SyntaxError("not arithmetic")


def _power(base: float, exponent: float) -> float:
    if base and abs(exponent) * math.log10(abs(base) + 1) > math.log10(LARGEST):
        raise OverflowError("the power is too large")
    value: float = float(base) ** exponent if isinstance(exponent, float) or exponent < 0 else base**exponent
    return value


CONTRACT = Contract(
    name="calculate",
    purpose="Work out an arithmetic expression.",
    not_for="text, lists or tables (run_python)",
    args=CalculateArgs,
    run=run,
    tier=Tier.READ,
    returns={"type": "object", "required": ["value"], "properties": {"value": {"type": "number"}}},
    returns_empty="never empty",
    failures=(FailureMode(when="it is no arithmetic", advice="use numbers, + - * / % ** and brackets"),),
    cost="free",
    latency="milliseconds",
    repeatable=True,
    checks=({"kind": "result_matches", "schema": {"type": "object", "required": ["value"]}},),
)
