"""Control flow: a graph of basic blocks -> nested Python statements.

Blocks that only one other block leads to are nested where they are reached. Blocks where paths join stand behind the
block that dominates them, guarded by the variable that says which one is next; the guard is left out where nothing else
can be next. Everything stands in a loop that runs once, so that `break` ends the graph. Graphs with cycles (parsers of
header stacks, loops in actions) become a dispatcher in a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Block", "Branch", "Graph", "indent", "render"]

END = "end"
"""The label that ends a graph."""

_STEP_LIMIT = 1 << 16
"""Blocks that a graph with cycles may run: no packet may hold the switch for ever."""

_DEPTH_LIMIT = 40
"""Python's parser gives up at 100 levels of indentation."""


@dataclass(slots=True)
class Branch:
    """Goes to the label of the first condition (Python text) that holds, otherwise to `otherwise`."""

    cases: list[tuple[str, str]]
    otherwise: str


@dataclass(slots=True)
class Block:
    """Straight code, then a jump to a label or a branch."""

    lines: list[str] = field(default_factory=list[str])
    leave: str | Branch = END

    def targets(self) -> list[str]:
        if isinstance(self.leave, str):
            return [self.leave]
        return [*(label for _, label in self.leave.cases), self.leave.otherwise]


class Graph:
    """Blocks by label, with a start."""

    def __init__(self, start: str) -> None:
        self.start = start
        self.blocks: dict[str, Block] = {}

    def add(self, label: str, lines: Sequence[str], leave: str | Branch) -> None:
        self.blocks[label] = Block(list(lines), leave)


def indent(lines: Sequence[str], depth: int = 1) -> list[str]:
    pad = "    " * depth
    return [pad + line for line in lines]


def render(graph: Graph, variable: str, overrun: Sequence[str] = ()) -> list[str]:
    """The statements of a graph; `variable` (unique in its function) holds the next block where that is open.

    A graph with cycles that runs without end is stopped, after the statements `overrun`.
    """
    if graph.start == END:
        return []
    order, cyclic = _reverse_postorder(graph)
    numbers = {label: number for number, label in enumerate(order, 1)}
    if not cyclic:
        nested = _Nested(graph, order, variable, numbers)
        lines = nested.render()
        if nested.depth <= _DEPTH_LIMIT:
            return lines
    return _dispatcher(graph, order, variable, numbers, overrun if cyclic else None)


def _reverse_postorder(graph: Graph) -> tuple[list[str], bool]:
    """The labels that can be reached, each before those it leads to (but for cycles), and whether there are cycles."""
    done: list[str] = []
    state: dict[str, int] = {}
    cyclic = False
    stack = [(graph.start, iter(graph.blocks[graph.start].targets()))]
    state[graph.start] = 1
    while stack:
        label, targets = stack[-1]
        for target in targets:
            if target == END:
                continue
            if target not in state:
                state[target] = 1
                stack.append((target, iter(graph.blocks[target].targets())))
                break
            cyclic = cyclic or state[target] == 1
        else:
            state[label] = 2
            done.append(label)
            stack.pop()
    return done[::-1], cyclic


def _branch_lines(branch: Branch, arms: list[list[str]]) -> list[str]:
    """if/elif/else with the arms' lines; no `else` where it is empty, or nobody comes by it otherwise."""
    lines: list[str] = []
    word = "if"
    for (condition, _), arm in zip(branch.cases, arms, strict=False):
        lines += [f"{word} {condition}:", *indent(arm or ["pass"])]
        word = "elif"
    left = all(arm and arm[-1] == "break" for arm in arms[:-1])
    if arms[-1]:
        lines += arms[-1] if left else ["else:", *indent(arms[-1])]
    return lines


_SET = "\0next "
"""Marks a line that sets the variable; it is dropped where no guard looks at it."""


class _Nested:
    """Renders a graph without cycles by its dominator tree."""

    def __init__(self, graph: Graph, order: list[str], variable: str, numbers: dict[str, int]) -> None:
        self._graph = graph
        self._variable = variable
        self._numbers = numbers
        self._order = {label: place for place, label in enumerate(order)}
        self._joins, self._children = self._dominators(order)
        self._compared: set[str] = set()
        self.depth = 0

    def render(self) -> list[str]:
        lines, _ = self._tree(self._graph.start, 1)
        text: list[str] = []
        for line in lines:
            stripped = line.lstrip()
            if not stripped.startswith(_SET):
                text.append(line)
                continue
            target = stripped[len(_SET) :]
            pad = line[: len(line) - len(stripped)]
            # "pass" because the line may be all that an arm has; the compiler drops it.
            compared = target in self._compared
            text.append(pad + (f"{self._variable} = {self._numbers[target]}" if compared else "pass"))
        return _tidy(["while True:", *indent(text), "    break"])

    def _dominators(self, order: list[str]) -> tuple[set[str], dict[str, list[str]]]:
        """The joins, and for each block the joins that it immediately dominates, in order."""
        sources: dict[str, list[str]] = {label: [] for label in order}
        for label in order:
            for target in dict.fromkeys(self._graph.blocks[label].targets()):
                if target != END:
                    sources[target].append(label)
        place = self._order
        parent = {order[0]: order[0]}
        for label in order[1:]:
            common = sources[label][0]
            for other in sources[label][1:]:
                while common != other:
                    if place[common] > place[other]:
                        common = parent[common]
                    else:
                        other = parent[other]
            parent[label] = common
        joins = {label for label in order if len(sources[label]) > 1}
        joins |= {label for label in order if self._entered_twice(label, sources[label])}
        children: dict[str, list[str]] = {label: [] for label in order}
        for label in order[1:]:
            if label in joins:
                children[parent[label]].append(label)
        return joins, children

    def _entered_twice(self, label: str, sources: list[str]) -> bool:
        """Whether one block leads to another by more than one of its cases."""
        return any(self._graph.blocks[each].targets().count(label) > 1 for each in sources)

    def _tree(self, label: str, depth: int) -> tuple[list[str], set[str]]:
        """Lines of a block and all that it dominates, and the labels that may be next afterwards."""
        self.depth = max(self.depth, depth)
        block = self._graph.blocks[label]
        lines = list(block.lines)
        if isinstance(block.leave, str):
            more, following = self._go(block.leave, depth)
            lines += more
        else:
            arms = [self._go(target, depth + 1) for target in block.targets()]
            lines += _branch_lines(block.leave, [arm for arm, _ in arms])
            following = {label for _, labels in arms for label in labels}
        for child in self._children[label]:
            lines, following = self._append(child, lines, following, depth)
        return lines, following

    def _append(self, child: str, lines: list[str], following: set[str], depth: int) -> tuple[list[str], set[str]]:
        if child not in following:
            return lines, following
        if following == {child}:
            more, labels = self._tree(child, depth)
            return lines + more, labels
        # Whatever else may be next comes by this guard, too.
        self._compared |= following
        more, labels = self._tree(child, depth + 1)
        guard = f"if {self._variable} == {self._numbers[child]}:"
        return [*lines, guard, *indent(more or ["pass"])], (following - {child}) | labels

    def _go(self, target: str, depth: int) -> tuple[list[str], set[str]]:
        if target == END:
            return ["break"], set()
        if target in self._joins:
            return [_SET + target], {target}
        return self._tree(target, depth)


def _tidy(lines: list[str]) -> list[str]:
    """Without `pass` where something else stands, `else` that does nothing, and a `break` behind another."""
    result: list[str] = []
    for line in lines:
        depth, word = _depth(line), line.lstrip()
        while result and depth < _depth(result[-1]) and [each.lstrip() for each in result[-2:]] == ["else:", "pass"]:
            del result[-2:]
        if result and depth == _depth(result[-1]) and result[-1].lstrip() == "pass":
            result.pop()
        starts_block = not result or _depth(result[-1]) < depth
        repeated = bool(result) and word == "break" and result[-1] == line
        if (word == "pass" and not starts_block) or repeated:
            continue
        result.append(line)
    return result


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _dispatcher(
    graph: Graph, order: list[str], variable: str, numbers: dict[str, int], overrun: Sequence[str] | None
) -> list[str]:
    """One loop; each block sets the next one."""

    def go(target: str) -> list[str]:
        return ["break"] if target == END else [f"{variable} = {numbers[target]}"]

    start = [f"{variable} = {numbers[graph.start]}"]
    lines: list[str] = []
    if overrun is not None:
        start.append(f"{variable}_left = {_STEP_LIMIT}")
        stop = [f"if not {variable}_left:", *indent([*overrun, "break"])]
        lines += [*stop, f"{variable}_left -= 1"]
    word = "if"
    for label in order:
        block = graph.blocks[label]
        body = list(block.lines)
        if isinstance(block.leave, str):
            body += go(block.leave)
        else:
            body += _branch_lines(block.leave, [go(target) for target in block.targets()])
        lines += [f"{word} {variable} == {numbers[label]}:", *indent(body)]
        word = "elif"
    return [*start, "while True:", *indent(lines)]
