"""The typed program: what a bmv2 JSON means, checked and resolved, and what back ends generate code from.

    Program
    ├── headers, stacks, unions     fields with width, sign, range of values and identity (`headers`); a header also
    │                               has its validity
    ├── parser                      graph of states: operations, then a select. Extract (`Header.fixed_bits` and the
    │                               varbit length), lookahead (`Lookahead.end`) and advance check the cursor; `verify`
    │                               and the select's keys are expressions
    ├── value_sets                  what the control plane may add to selects
    ├── ingress, egress             graph of nodes: tables, conditions, action calls; each names where control goes next
    ├── deparser, checksums         the order of headers, what is verified and updated under which condition
    ├── actions                     typed primitives (`primitives`, `expressions`), the same as basic blocks (`blocks`),
    │                               and which fields they read and write, which headers they switch (`effects`)
    ├── tables                      keys (expressions with kind and width), actions, const entries, default entry
    ├── registers                   size, width, base and stride in the register file
    ├── counters, meters, profiles  arrays with their size; direct ones name their table
    ├── calculations                hashes: algorithm and inputs
    ├── field_lists, learn_lists    what clones, resubmits and recirculations keep; what digests report
    └── standard                    the fields of standard_metadata that the runtime reads and writes

What the runtime must do is explicit: `Request` primitives (clone, digest, resubmit, recirculate), `Truncate`, `Log`,
`Check`; multicast and drop are assignments to the standard fields `mcast_grp` and `egress_spec`.

Ranges of expressions follow from those of fields (`codegen.expressions.Value`), what a whole stage reads and writes
from the effects of its actions, keys and conditions (`codegen.usage`).

Everything here is immutable and holds no run-time state. References between nodes are names, so that a back end walks
the graphs in an order of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cais_tools.switch.headers import Field, Header, HeaderStack, HeaderUnion, HeaderUnionStack
from cais_tools.switch.matches import Match, MatchKind

if TYPE_CHECKING:
    from cais_tools.switch.blocks import BasicBlock
    from cais_tools.switch.effects import Effects
    from cais_tools.switch.expressions import Expr
    from cais_tools.switch.primitives import Primitive

__all__ = [
    "Action",
    "ActionCallNode",
    "ActionParam",
    "ActionProfileSpec",
    "Advance",
    "Calculation",
    "Checksum",
    "ConditionNode",
    "ConstEntry",
    "CounterSpec",
    "DefaultEntry",
    "Extract",
    "ExtractNext",
    "FieldList",
    "KeyField",
    "MeterSpec",
    "Node",
    "Parser",
    "ParserOp",
    "ParserState",
    "Payload",
    "Pipeline",
    "Program",
    "RegisterSpec",
    "SelectCase",
    "TableNode",
    "ValueSetSpec",
    "Verify",
]


# --- parser ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Extract:
    """Extract into a header. `varbit_length` is the length of its varbit field in bits."""

    header: Header
    varbit_length: Expr | None = None


@dataclass(frozen=True, slots=True)
class ExtractNext:
    """Extract into the next element of a stack of headers, or into member `member` of the next union of a stack."""

    stack: HeaderStack | HeaderUnionStack
    member: int = 0
    varbit_length: Expr | None = None


@dataclass(frozen=True, slots=True)
class Verify:
    """Unless `condition` holds, parsing ends with `error` (a number of `Program.errors`)."""

    condition: Expr
    error: Expr


@dataclass(frozen=True, slots=True)
class Advance:
    """Skip so many bits; not a multiple of 8 is the error ParserInvalidArgument."""

    bits: Expr


@dataclass(frozen=True, slots=True)
class SelectCase:
    """The first case for which `key & mask == value & mask` is taken; a `value_set` matches any of its members."""

    next_state: str | None
    value: int = 0
    mask: int | None = None
    value_set: str | None = None


@dataclass(frozen=True, slots=True)
class ParserState:
    name: str
    ops: tuple[ParserOp, ...]
    keys: tuple[tuple[Expr, int], ...]
    """Expressions and their widths; the select's key is their concatenation, each padded to whole bytes."""
    cases: tuple[SelectCase, ...]
    default: str | None
    """The next state where no case matches, None: parsing is over."""


@dataclass(frozen=True, slots=True)
class Parser:
    name: str
    start: str | None
    states: Mapping[str, ParserState]


@dataclass(frozen=True, slots=True)
class ValueSetSpec:
    name: str
    max_size: int
    key_widths: tuple[int, ...]


# --- pipelines ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ActionParam:
    name: str
    width: int


@dataclass(frozen=True, slots=True)
class Action:
    """`primitives` may hold jumps; their targets are indices into the same tuple."""

    ident: int
    name: str
    params: tuple[ActionParam, ...]
    primitives: tuple[Primitive, ...]
    blocks: tuple[BasicBlock, ...]
    """The same steps, cut at the jumps."""
    effects: Effects
    """The fields that it reads and writes, the headers whose validity it may change."""


@dataclass(frozen=True, slots=True)
class KeyField:
    """A key of a table: the value of `source`, after `mask` where there is one."""

    name: str
    kind: MatchKind
    width: int
    source: Expr
    mask: int | None = None


@dataclass(frozen=True, slots=True)
class DefaultEntry:
    action: str
    args: tuple[int, ...]
    action_const: bool
    entry_const: bool


@dataclass(frozen=True, slots=True)
class ConstEntry:
    """An entry that the program brings. Larger `priority` wins, as in P4Runtime (bmv2's JSON has it the other way)."""

    match: tuple[Match, ...]
    priority: int
    action: str
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TableNode:
    """A table and where control goes afterwards.

    `next_hit`/`next_miss` come before `next_by_action` where they are set (`has_hit_miss`). None: the pipeline ends.
    """

    name: str
    ident: int
    keys: tuple[KeyField, ...]
    actions: tuple[int, ...]
    """Idents of the actions that it may run."""
    max_size: int
    next_by_action: Mapping[str, str | None]
    base_next: str | None
    has_hit_miss: bool = False
    next_hit: str | None = None
    next_miss: str | None = None
    default: DefaultEntry | None = None
    entries: tuple[ConstEntry, ...] = ()
    with_counters: bool = False
    support_timeout: bool = False
    direct_meter: str | None = None
    profile: str | None = None
    """The action profile of an indirect table."""

    @property
    def const_entries(self) -> bool:
        """Whether the program brings entries: const ones, as far as bmv2's JSON tells."""
        return bool(self.entries)

    @property
    def needs_priority(self) -> bool:
        """Whether P4Runtime wants a priority for its entries (9.1: any ternary, range or optional key)."""
        loose = (MatchKind.TERNARY, MatchKind.RANGE, MatchKind.OPTIONAL)
        return any(key.kind in loose for key in self.keys)


@dataclass(frozen=True, slots=True)
class ConditionNode:
    name: str
    condition: Expr
    next_true: str | None
    next_false: str | None


@dataclass(frozen=True, slots=True)
class ActionCallNode:
    name: str
    action: int
    next: str | None


@dataclass(frozen=True, slots=True)
class Pipeline:
    name: str
    start: str | None
    nodes: Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class ActionProfileSpec:
    """An action profile. With `selector` (a calculation's name) its groups choose a member by hash."""

    name: str
    max_size: int
    selector: Calculation | None = None


# --- arrays, lists, calculations --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegisterSpec:
    """Cell i lies at `base` + i * `stride` of the register file (one sequence of cells of all registers).

    Registers of the same size and width that the same actions use at the same index are interleaved. The Python
    functions have a list for each register; a back end with one block of memory places its cells so.
    """

    name: str
    size: int
    width: int
    base: int = 0
    stride: int = 1


@dataclass(frozen=True, slots=True)
class CounterSpec:
    """`table` is set for the direct counter of a table."""

    name: str
    size: int
    table: str | None = None


@dataclass(frozen=True, slots=True)
class MeterSpec:
    """`table` and `result` (where the colour goes) are set for the direct meter of a table."""

    name: str
    size: int
    in_bytes: bool
    table: str | None = None
    result: Field | None = None


@dataclass(frozen=True, slots=True)
class Payload:
    """As input of a calculation: everything behind the headers that were parsed."""


@dataclass(frozen=True, slots=True)
class Calculation:
    """A hash or checksum over `inputs`, concatenated: values with their width, whole headers, the payload."""

    name: str
    algorithm: str
    inputs: tuple[tuple[Expr, int] | Header | Payload, ...]


@dataclass(frozen=True, slots=True)
class Checksum:
    """The checksum in `target`, for packets for which `condition` holds."""

    name: str
    target: Field
    calculation: Calculation
    verify: bool
    update: bool
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class FieldList:
    """Fields kept by clone, resubmit and recirculate, or the fields of a digest."""

    ident: int
    name: str
    elements: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A whole v1model program."""

    name: str
    headers: tuple[Header, ...]
    stacks: tuple[HeaderStack, ...]
    unions: tuple[HeaderUnion, ...]
    union_stacks: tuple[HeaderUnionStack, ...]
    errors: Mapping[str, int]
    parser: Parser
    value_sets: Mapping[str, ValueSetSpec]
    actions: Mapping[int, Action]
    ingress: Pipeline
    egress: Pipeline
    deparser: tuple[Header, ...]
    deparser_primitives: tuple[Primitive, ...]
    checksums: tuple[Checksum, ...]
    calculations: Mapping[str, Calculation]
    registers: Mapping[str, RegisterSpec]
    counters: Mapping[str, CounterSpec]
    meters: Mapping[str, MeterSpec]
    profiles: Mapping[str, ActionProfileSpec]
    field_lists: Mapping[int, FieldList]
    learn_lists: Mapping[int, FieldList]
    standard: Mapping[str, Field]
    """Fields of standard_metadata by their short names, as v1model.p4 has them (`egress_spec`, `mcast_grp`, ..)."""
    tables: Mapping[str, TableNode] = field(default_factory=dict[str, "TableNode"])

    def action_number(self, name: str) -> int:
        """The number by which tables and generated code mean an action of that name: its smallest ident."""
        return min(ident for ident, action in self.actions.items() if action.name == name)

    @property
    def hashes(self) -> tuple[Calculation, ...]:
        """All calculations, also those of selectors: each has a hash function of its own, with its state."""
        selectors = [each.selector for each in self.profiles.values() if each.selector is not None]
        return *self.calculations.values(), *selectors

    @property
    def drop_port(self) -> int:
        """The value of `egress_spec` that drops a packet."""
        return 511


Node = TableNode | ConditionNode | ActionCallNode

if TYPE_CHECKING:
    ParserOp = Extract | ExtractNext | Verify | Advance | Primitive
else:
    ParserOp = object
