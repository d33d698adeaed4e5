"""What the tests of races share: sessions that may block, gates that hold them, processes to run.

Nothing here sleeps to let a race happen. A test opens a *gate* (a lock somebody holds), starts its
calls in sessions of their own, waits until the server says that each of them waits for a lock, and
opens the gate. ``blocked`` looks at ``pg_stat_activity``; it gives up after ``PATIENCE`` seconds.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Any, Literal

import psycopg
from tests.support.database import Connection, TestDatabase

PATIENCE = 20.0
NIGHTLY = os.environ.get("PGBPM_TEST_SIZE") == "nightly"

Row = dict[str, Any]


def sized(usual: int, nightly: int) -> int:
    """How large a test is: as usual, or as ``PGBPM_TEST_SIZE=nightly`` wants it."""
    return nightly if NIGHTLY else usual


def until(true: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """Look at a state again and again until it is true; its value."""
    end = time.monotonic() + patience
    while True:
        value = true()
        if value:
            return value
        assert time.monotonic() < end, f"waited {patience:.0f} s in vain: {what}"
        time.sleep(0.002)


class Session:
    """A connection of its own, in autocommit, whose calls may run in the background."""

    def __init__(self, database: TestDatabase, **settings: str) -> None:
        self._database = database
        self._settings = settings
        self._thread = ThreadPoolExecutor(1)
        self._connect()

    def _connect(self) -> None:
        self.conn: Connection = self._database.connect()
        self.pid: int = self.conn.info.backend_pid
        self.warnings: list[str] = []
        self.conn.add_notice_handler(self._note)
        for name, value in self._settings.items():
            self.conn.execute("select set_config(%s, %s, false)", [name, value])

    def _note(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self.warnings.append(notice.message_primary or "")

    def reconnect(self) -> None:
        """Connect anew after the connection was lost; a server that restarts is waited for."""
        self.conn.close()
        until(self._try_connect, "the server takes connections again")

    def _try_connect(self) -> bool:
        try:
            self._connect()
        except psycopg.OperationalError:
            return False
        return True

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()
        self.conn.close()

    def do(self, query: str, *params: Any) -> list[Row]:
        """Run a statement here and now; its rows."""
        cursor = self.conn.execute(query, params or None)
        return list(cursor) if cursor.description is not None else []

    def one(self, query: str, *params: Any) -> Row:
        """The only row of a statement."""
        (row,) = self.do(query, *params)
        return row

    def start(self, query: str, *params: Any) -> Future[list[Row]]:
        """Run a statement in the background."""
        return self._thread.submit(self.do, query, *params)

    def begin(self) -> None:
        """Begin a transaction; what its calls lock stays locked until it ends."""
        self.do("begin")

    def commit(self) -> None:
        """Commit it."""
        self.do("commit")

    def rollback(self) -> None:
        """Undo it."""
        self.do("rollback")

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """A transaction around several calls."""
        with self.conn.transaction():
            yield self


@contextmanager
def sessions(database: TestDatabase, count: int, **settings: str) -> Iterator[list[Session]]:
    """Several sessions at once."""
    with ExitStack() as stack:
        yield [stack.enter_context(Session(database, **settings)) for _ in range(count)]


def blocked(observer: Session, waiting: Sequence[Session]) -> None:
    """Wait until the server says of each session that it waits for a lock somebody holds."""
    pids = [session.pid for session in waiting]
    until(
        lambda: observer.one(
            "select count(*) = cardinality(%s::int[]) as all_wait from pg_stat_activity a"
            " where a.pid = any (%s) and a.state = 'active' and a.wait_event_type = 'Lock'",
            pids,
            pids,
        )["all_wait"],
        f"backends {pids} do not all wait for a lock",
    )


def settled(futures: Sequence[Future[list[Row]]]) -> list[list[Row] | psycopg.Error]:
    """What calls in the background gave: rows, or the error they raised."""
    done: list[list[Row] | psycopg.Error] = []
    for future in futures:
        error = future.exception(PATIENCE * 3)
        if error is None:
            done.append(future.result())
        elif isinstance(error, psycopg.Error):
            done.append(error)
        else:
            raise error
    return done


@contextmanager
def holding(database: TestDatabase, query: str, *params: Any) -> Iterator[Session]:
    """A session that holds what a statement locked; the gate opens at the end of the block."""
    with Session(database) as gate, gate.transaction():
        gate.do(query, *params)
        yield gate


def instances_held(database: TestDatabase) -> Any:
    """A gate that holds every workflow instance: what waits for one waits here."""
    return holding(
        database, "select from bpm_core.workflow_instance w order by w.id for no key update"
    )


def tables_held(database: TestDatabase, *tables: str) -> Any:
    """A gate that holds whole tables: whoever looks into one waits here, pickers too."""
    names = ", ".join(f"bpm_core.{table}" for table in tables)
    return holding(database, f"lock table {names} in access exclusive mode")


def mutate(database: TestDatabase, signature: str, pattern: str, text: str) -> None:
    """Break a function of the engine in a database of one's own: a test must notice it."""
    with database.connect() as conn:
        row = conn.execute(
            "select pg_get_functiondef(%s::regprocedure) as source", [signature]
        ).fetchone()
        assert row is not None
        changed, times = re.subn(pattern, text, str(row["source"]), flags=re.S)
        assert times == 1, f"{signature} no longer reads like {pattern!r}"
        conn.execute(changed)


# -- processes ----------------------------------------------------------------------------------

Element = str

HEAD = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"'
    ' xmlns:bpm="urn:pgbpm:bpmn:1" targetNamespace="tests">'
)


def service(**attributes: str) -> Element:
    """A service task; attributes of ours, for instance ``retries="1"``."""
    return _task("serviceTask", attributes)


def send(**attributes: str) -> Element:
    """A send task."""
    return _task("sendTask", attributes)


def user() -> Element:
    """A user task."""
    return "<userTask {id}/>"


def _task(tag: str, attributes: dict[str, str]) -> Element:
    own = "".join(f' bpm:{name}="{value}"' for name, value in attributes.items())
    return f"<{tag} {{id}}{own}/>"


def message(name: str) -> Element:
    """A catch event for a message, by business key."""
    return (
        f'<intermediateCatchEvent {{id}}><messageEventDefinition messageRef="message-{name}"/>'
        "</intermediateCatchEvent>"
    )


def timer(duration: str) -> Element:
    """A timer catch event."""
    return f"<intermediateCatchEvent {{id}}>{_timer(duration)}</intermediateCatchEvent>"


def boundary_timer(host: str, duration: str, *, interrupting: bool = True) -> Element:
    """A timer on an activity."""
    cancels = str(interrupting).lower()
    return (
        f'<boundaryEvent {{id}} attachedToRef="{host}" cancelActivity="{cancels}">'
        f"{_timer(duration)}</boundaryEvent>"
    )


def _timer(rule: str) -> str:
    tag = "timeCycle" if rule.startswith("R") else "timeDuration"
    return f"<timerEventDefinition><{tag}>{rule}</{tag}></timerEventDefinition>"


def boundary_error(host: str, code: str) -> Element:
    """An error event on an activity."""
    return (
        f'<boundaryEvent {{id}} attachedToRef="{host}">'
        f'<errorEventDefinition errorRef="error-{code}"/></boundaryEvent>'
    )


def terminate() -> Element:
    """An end event that ends everything."""
    return "<endEvent {id}><terminateEventDefinition/></endEvent>"


def compensate() -> Element:
    """A throw event that undoes everything around it."""
    return "<intermediateThrowEvent {id}><compensateEventDefinition/></intermediateThrowEvent>"


def undone(activity: str) -> dict[str, Element]:
    """What undoes an activity: a service task ``un-…``, tied to it."""
    return {
        f"{activity}-back": f'<boundaryEvent {{id}} attachedToRef="{activity}">'
        "<compensateEventDefinition/></boundaryEvent>",
        f"un-{activity}": '<serviceTask {id} isForCompensation="true"/>',
        f"{activity}-tie": f'<association {{id}} sourceRef="{activity}-back"'
        f' targetRef="un-{activity}"/>',
    }


def choice(default: str) -> Element:
    """An exclusive gateway with a default flow (``source>target``)."""
    return f'<exclusiveGateway {{id}} default="{default.replace(">", "_")}"/>'


def process(
    code: str,
    flows: str,
    conditions: dict[str, str] | None = None,
    /,
    **elements: Element,
) -> str:
    """A BPMN file. ``flows`` are chains of node ids, ``start > a > end; start > b``.

    What a node is stands in ``elements``; otherwise its id says it: start…, end…, fork… and join…
    (parallel), merge… (exclusive); any other is a service task of its own type. ``conditions`` maps
    ``source>target`` to an expression.
    """
    pairs: list[tuple[str, str]] = []
    for chain in flows.split(";"):
        nodes = [node.strip() for node in chain.split(">")]
        pairs += pairwise(nodes)
    names = list(dict.fromkeys(node for pair in pairs for node in pair))
    body = "".join(_element(name, elements) for name in [*names, *(set(elements) - set(names))])
    for source, target in pairs:
        condition = (conditions or {}).get(f"{source}>{target}")
        inner = f"<conditionExpression>{condition}</conditionExpression>" if condition else ""
        body += (
            f'<sequenceFlow id="{source}_{target}" sourceRef="{source}" targetRef="{target}">'
            f"{inner}</sequenceFlow>"
        )
    outside = "".join(
        f'<message id="{ref}" name="{ref.partition("-")[2]}"/>'
        for ref in _references(body, 'messageRef="')
    ) + "".join(
        f'<error id="{ref}" errorCode="{ref.partition("-")[2]}"/>'
        for ref in _references(body, 'errorRef="')
    )
    return f'{HEAD}{outside}<process id="{code}" isExecutable="true">{body}</process></definitions>'


def _element(name: str, elements: dict[str, Element]) -> str:
    shape = elements.get(name)
    if shape is None:
        kinds = {
            "start": "<startEvent {id}/>",
            "end": "<endEvent {id}/>",
            "fork": "<parallelGateway {id}/>",
            "join": "<parallelGateway {id}/>",
            "merge": "<exclusiveGateway {id}/>",
        }
        found = (kind for prefix, kind in kinds.items() if name.startswith(prefix))
        shape = next(found, "<serviceTask {id}/>")
    return shape.replace("{id}", f'id="{name}"')


def _references(body: str, attribute: str) -> list[str]:
    return list(dict.fromkeys(part.split('"')[0] for part in body.split(attribute)[1:]))


def deploy(database: TestDatabase, *files: str) -> None:
    """Deploy files."""
    for file in files:
        database.rows("select * from bpm.deploy_bpmn(%s)", [file])


def start(database: TestDatabase, code: str, count: int = 1, **variables: Any) -> list[str]:
    """Start instances with business keys of their own; their process instances, in order."""
    items = [
        {"code": code, "variables": variables, "business_key": f"{code}-{os.urandom(6).hex()}"}
        for _ in range(count)
    ]
    rows = database.rows("select * from bpm.start_processes(%s)", [json.dumps(items)])
    assert {row["outcome"] for row in rows} == {"Done"}, rows
    return [str(row["process_instance_id"]) for row in rows]


def claim(session: Session, types: Sequence[str], limit: int = 1, **more: Any) -> list[Row]:
    """Claim tasks; ``lease`` and ``worker`` may be given."""
    return session.do(
        "select * from bpm.claim_tasks(%s, %s, %s, %s::interval)",
        more.get("worker", f"w{session.pid}"),
        list(types),
        limit,
        more.get("lease", "10 minutes"),
    )


def answer(tasks: Sequence[Row], **variables: Any) -> str:
    """The items with which claimed tasks are completed."""
    return json.dumps([{**held(task), "variables": variables} for task in tasks])


def held(task: Row) -> Row:
    """What names a claimed task in a call."""
    return {"task_id": str(task["task_id"]), "fencing_token": task["fencing_token"]}


COMPLETE = "select * from bpm.complete_tasks(%s)"


def status_of(database: TestDatabase, process_instance_id: str) -> str:
    """The status of a process."""
    return str(
        database.value(
            "select status from bpm.instance where process_instance_id = %s", [process_instance_id]
        )
    )


def standing(database: TestDatabase, process_instance_id: str) -> list[str]:
    """Where live tokens are, as ``node state``."""
    rows = database.rows(
        "select k.node_id || ' ' || k.state as place"
        "  from bpm_core.workflow_instance w"
        "  join bpm_core.token k on k.tenant_id = w.tenant_id and k.workflow_instance_id = w.id"
        " where w.process_instance_id = %s and k.state not in ('Completed', 'Terminated')"
        " order by 1",
        [process_instance_id],
    )
    return [row["place"] for row in rows]


def history(database: TestDatabase, process_instance_id: str, *kinds: str) -> list[Row]:
    """History of a process, of some kinds or of all, in order."""
    return database.rows(
        "select h.* from bpm.get_history(%s, 10000) h where %s or h.kind = any (%s) order by h.seq",
        [process_instance_id, not kinds, list(kinds)],
    )


def run_out(database: TestDatabase, types: Sequence[str], **variables: Any) -> int:
    """Do all work there is until nothing is left to claim or to tick; how many tasks that were."""
    done = 0
    with Session(database) as worker:
        while True:
            tasks = claim(worker, types, 1000, worker="run-out")
            if tasks:
                rows = worker.do(COMPLETE, answer(tasks, **variables))
                assert {row["outcome"] for row in rows} == {"Completed"}, rows
                done += len(tasks)
            elif not worker.one("select bpm.run_until_idle() as done")["done"]:
                return done


Ending = Literal["Completed", "Failed", "Cancelled"]
