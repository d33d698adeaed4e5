"""When an inclusive join fires (BPMN 2.0, 13.3.3), by walking the drawing: what the engine's answer
is compared with.

Flows are triples ``(id, source, target)`` of one scope; whoever has boundary events adds a flow
from each host to each of its boundary events. Tokens inside a sub-process stand at the sub-process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Flow = tuple[str, str, str]


def reached(flows: Sequence[Flow], join: str, node: str) -> set[str]:
    """The flows into ``join`` that a token at ``node`` can still come over without passing it."""
    seen, ahead, found = {node}, [node], set[str]()
    while ahead:
        here = ahead.pop()
        for flow, source, target in flows:
            if source != here:
                continue
            if target == join:
                found.add(flow)
            elif target not in seen:
                seen.add(target)
                ahead.append(target)
    return found


def may_fire(
    flows: Sequence[Flow], join: str, filled: Iterable[str], elsewhere: Iterable[str]
) -> bool:
    """Whether a join fires at which tokens wait over the flows ``filled``.

    ``elsewhere`` are the nodes of all other live tokens of the scope: all but those that wait at
    this join, at other joins too. A token that is on a flow into the join but not there yet (parked
    before it) is one of those that block if nothing waits on that flow; give such a flow a node of
    its own.
    """
    full = set(filled)
    if not full:
        return False
    for node in elsewhere:
        can = reached(flows, join, node)
        if can - full and not can & full:
            return False
    return True
