"""Rendered graphs run the blocks that the graph says, whatever its shape."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cais_tools.switch.codegen.flow import END, Branch, Graph, render


def execute(lines: list[str], choices: list[bool]) -> list[str]:
    """Run rendered statements; each condition takes the next choice."""
    seen: list[str] = []
    pending = iter(choices)
    namespace = {"seen": seen, "choose": lambda: next(pending, False)}
    exec("\n".join(["def run():", *("    " + line for line in lines), "run()"]), namespace)
    return seen


def interpret(graph: Graph, choices: list[bool]) -> list[str]:
    seen: list[str] = []
    pending = iter(choices)
    label = graph.start
    while label != END:
        block = graph.blocks[label]
        seen.append(label)
        if isinstance(block.leave, str):
            label = block.leave
            continue
        taken = (target for _, target in block.leave.cases if next(pending, False))
        label = next(taken, block.leave.otherwise)
    return seen


@st.composite
def graphs(draw: st.DrawFn, *, cyclic: bool) -> Graph:
    size = draw(st.integers(1, 12))
    graph = Graph("b0")
    for place in range(size):
        # Ahead only, or (for cycles) anywhere; the end is always possible.
        first = 0 if cyclic else place + 1
        labels = [END, *(f"b{each}" for each in range(first, size))]
        target = st.sampled_from(labels)
        cases = [("choose()", each) for each in draw(st.lists(target, max_size=3))]
        otherwise = draw(target)
        label = f"b{place}"
        graph.add(label, [f"seen.append({label!r})"], Branch(cases, otherwise) if cases else otherwise)
    return graph


@given(graphs(cyclic=False), st.lists(st.booleans(), max_size=40))
def test_graphs_without_cycles(graph: Graph, choices: list[bool]) -> None:
    assert execute(render(graph, "node"), choices) == interpret(graph, choices)


def _ends(graph: Graph) -> bool:
    """Whether a graph ends when every choice is false."""
    seen: set[str] = set()
    label = graph.start
    while label != END and label not in seen:
        seen.add(label)
        leave = graph.blocks[label].leave
        label = leave if isinstance(leave, str) else leave.otherwise
    return label == END


@given(graphs(cyclic=True), st.lists(st.booleans(), max_size=40))
def test_graphs_with_cycles(graph: Graph, choices: list[bool]) -> None:
    if all(_ends(_from(graph, label)) for label in graph.blocks):
        assert execute(render(graph, "node"), choices) == interpret(graph, choices)


def _from(graph: Graph, label: str) -> Graph:
    other = Graph(label)
    other.blocks = graph.blocks
    return other


def test_a_graph_that_never_ends_is_stopped() -> None:
    graph = Graph("a")
    graph.add("a", [], "b")
    graph.add("b", [], "a")
    assert execute(render(graph, "node", ["seen.append('overrun')"]), []) == ["overrun"]


def test_deep_nesting_does_not_break_the_compiler() -> None:
    graph = Graph("b0")
    for place in range(150):
        graph.add(f"b{place}", [f"seen.append('b{place}')"], Branch([("choose()", f"b{place + 1}")], f"c{place}"))
        graph.add(f"c{place}", [f"seen.append('c{place}')"], END)
    graph.add("b150", ["seen.append('b150')"], END)
    assert execute(render(graph, "node"), [True] * 150)[-1] == "b150"


def test_an_empty_graph_has_no_statements() -> None:
    assert render(Graph(END), "node") == []


def test_diamonds_need_no_variable() -> None:
    graph = Graph("a")
    graph.add("a", [], Branch([("choose()", "b")], "c"))
    graph.add("b", ["seen.append('b')"], "d")
    graph.add("c", ["seen.append('c')"], "d")
    graph.add("d", ["seen.append('d')"], END)
    assert not any("node" in line for line in render(graph, "node"))
