"""What the wall passes for a parameter: something harmless, or something that belongs to a tenant.

A parameter that is in no list stops the wall: tell it here what the new parameter is.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.wall import drawings
from tests.wall.world import Tenant

Connection = psycopg.Connection[dict[str, Any]]
Values = dict[str, str]
"""Parameter -> SQL literal without a type."""

PLAIN: dict[str, str | None] = {
    # parameter, or function.parameter -> what to pass; None: leave it to its default
    "p_absent_means": None,
    "p_actor": None,
    "p_after_seq": None,
    "p_approval_policy": None,
    "p_approval_required": None,
    "p_assignee": "x",
    "p_attempts": None,
    "p_backoff": None,
    "p_backoff_cap": None,
    "p_backoff_factor": None,
    "p_binding_key": None,
    "p_bound": "3",
    "p_breaker_delay": None,
    "p_breaker_threshold": None,
    "p_business_key": None,
    "p_business_key_path": None,
    "p_capability": "reader",
    "p_changes": '{"priority": "low"}',
    "p_columns": "{tenant_id}",
    "p_condition": None,
    "p_config": '{"url": "http://x.example/"}',
    "p_conflict_means": None,
    "p_content_hash": None,
    "p_correlation_path": None,
    "p_decision": "Approved",
    "p_definition": None,
    "p_display_name": None,
    "p_error": '"x"',
    "p_error_code": "oops",
    "p_exclusion_rule": None,
    "p_event_types": None,
    "p_executor_kind": None,
    "p_expected": None,
    "p_expected_version": None,
    "p_form": None,
    "p_from_version": "1",
    "p_groups": None,
    "p_history": None,
    "p_host_columns": "{id}",
    "p_host_table": "public.host",
    "p_identity": "tenant_id_identity",
    "p_idle": None,
    "p_input_schema": None,
    "p_jitter": None,
    "p_key_header": None,
    "p_key_retention": None,
    "p_kind": None,
    "p_kinds": None,
    "p_lease": None,
    "p_limit": None,
    "p_mapping": None,
    "p_max_attempts": None,
    "p_max_concurrent": None,
    "p_message": None,
    "p_message_name": None,
    "p_message_ttl": None,
    "p_months": None,
    "p_note": None,
    "p_notify_channel": None,
    "p_occurred_at": None,
    "p_ordered": None,
    "p_outcome": "Sent",
    "p_payload": None,
    "p_person": None,
    "p_priority": None,
    "p_probe_url": None,
    "p_process_id": None,
    "p_rate_limit": None,
    "p_rate_period": None,
    "p_reason": "x",
    "p_reasons": None,
    "p_receipt": None,
    "p_receipt_path": None,
    "p_request_id": None,
    "p_resend_allowed": None,
    "p_result": None,
    "p_result_schema": None,
    "p_retry_in": None,
    "p_review_required": None,
    "p_retryable": None,
    "p_round": "1",
    "p_secret_ref": None,
    "p_server_error_safe": None,
    "p_state": "Open",
    "p_strict": None,
    "p_table": "tenant",
    "p_text": "x",
    "p_to": "x",
    "p_to_version": "2",
    "p_ttl": None,
    "p_upto": None,
    "p_variables": "{}",
    "p_verdict": None,
    "p_version": None,
    "p_weight": "2",
    "p_within": None,
    "p_worker": "w",
    "archive_definition.p_kind": "process",
    "create_tenant.p_name": "x",
    "decide_review.p_decision": "Approve",
    "delete_definition.p_kind": "process",
    "deploy_bpmn.p_name": None,
    "deprecate_process.p_version": "1",
    "maintain_tenant.p_kind": "instances",
    "publish_process.p_name": None,
    "publish_task.p_code": None,
    "publish_workflow.p_name": None,
    "set_setting.p_name": "engine.loop_budget",
    "set_setting.p_value": "5",
}

ITEMS = "jsonb_build_array(jsonb_build_object({}))::text"
TASKS = (
    "select distinct on (t.state, t.task_type = 'bpm:user', t.assignee is null, t.owner is null)"
)
BY_TASKS = " order by t.state, t.task_type = 'bpm:user', t.assignee is null, t.owner is null, t.id"
ROLES = "select g.role_name from bpm_core.tenant_grant g where g.tenant_pattern = %(tenant)s"

OWNED: dict[str, str] = {
    # leading parameter, or function.parameter -> rows of values of the tenant; the columns are the
    # parameters, those that the function does not have are left out
    "p_process_instance_id": "select distinct on (p.status) p.id as p_process_instance_id"
    " from bpm_core.process_instance p where p.tenant_id = %(tenant)s order by p.status, p.id",
    "restart_process.p_process_instance_id": "select p.id as p_process_instance_id,"
    " %(mark)s || '-one' as p_node_id from bpm_core.process_instance p"
    " where p.tenant_id = %(tenant)s and p.status in ('Cancelled', 'Failed')"
    " order by p.created_at desc",
    "p_workflow_instance_id": "select distinct on (w.status) w.id as p_workflow_instance_id"
    " from bpm_core.workflow_instance w where w.tenant_id = %(tenant)s order by w.status, w.id",
    "p_task_id": f"{TASKS} t.id as p_task_id, t.fencing_token as p_fencing_token,"
    " t.assignee as p_actor from bpm_core.task_instance t where t.tenant_id = %(tenant)s"
    + BY_TASKS,
    "p_token_id": "select distinct on (k.state) k.id as p_token_id, n.node_id as p_node_id,"
    " (select f.flow_id from bpm_core.workflow_flow f where f.tenant_id = k.tenant_id"
    "   and f.source_id = k.node_id limit 1) as p_flow_id"
    " from bpm_core.token k join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id"
    " and w.id = k.workflow_instance_id join bpm_core.workflow_node n on n.tenant_id = k.tenant_id"
    " and n.workflow_version_id = w.workflow_version_id and n.node_id = k.node_id"
    " where k.tenant_id = %(tenant)s and w.status = 'Running' order by k.state, k.id",
    "p_approval_id": "select distinct on (a.status) a.id as p_approval_id"
    " from bpm_core.approval_record a where a.tenant_id = %(tenant)s order by a.status, a.id",
    "p_review_id": "select distinct on (r.state) r.id as p_review_id, r.expected_version::text"
    " as p_expected_version from bpm_core.review r where r.tenant_id = %(tenant)s"
    " order by r.state, r.id",
    "p_incident_id": "select distinct on (i.state) i.id as p_incident_id"
    " from bpm_core.incident i where i.tenant_id = %(tenant)s order by i.state, i.id",
    "p_dead_letter_id": "select distinct on (l.state) l.id as p_dead_letter_id"
    " from bpm_core.dead_letter l where l.tenant_id = %(tenant)s order by l.state, l.id",
    "p_command_id": "select distinct on (o.state) o.command_id as p_command_id"
    " from bpm_core.outbox o where o.tenant_id = %(tenant)s order by o.state, o.command_id",
    "p_code": "select d.code as p_code from bpm_core.process_definition d"
    " where d.tenant_id = %(tenant)s order by d.code",
    "register_destination.p_code": "select d.code as p_code from bpm_core.destination d"
    " where d.tenant_id = %(tenant)s",
    "p_evidence_id": "select distinct on (e.purged_at is null) e.id as p_evidence_id"
    " from bpm_core.evidence e where e.tenant_id = %(tenant)s order by e.purged_at is null, e.id",
    "attach_evidence.p_items": "select "
    + ITEMS.format("'evidence_id', e.id")
    + " as p_items from bpm_core.evidence e where e.tenant_id = %(tenant)s and e.purged_at is null"
    " union all select "
    + ITEMS.format("'object_key', e.object_key, 'sha256', encode(e.sha256, 'hex')")
    + " from bpm_core.evidence e where e.tenant_id = %(tenant)s and e.purged_at is null",
    "p_event_id": "select distinct on (e.dispatch_state) e.id as p_event_id from bpm_core.event e"
    " where e.tenant_id = %(tenant)s order by e.dispatch_state, e.id",
    "p_provider_event_id": "select e.channel as p_channel, e.session_id as p_session_id,"
    " e.provider_event_id as p_provider_event_id, e.thread_id as p_thread_id,"
    " e.event_type as p_type, e.payload::text as p_payload from bpm_core.event e"
    " where e.tenant_id = %(tenant)s union all select %(mark)s || '-web', '',"
    " %(mark)s || ' new', null, %(mark)s || '-order.new', '{}'",
    "accept_events.p_items": "select "
    + ITEMS.format(
        "'channel', e.channel, 'session_id', e.session_id, 'type', e.event_type, 'payload',"
        " e.payload, 'provider_event_id', e.provider_event_id"
    )
    + " as p_items from bpm_core.event e where e.tenant_id = %(tenant)s order by e.id",
    "dispatch_event.p_decision": "select jsonb_build_object('action', 'Attach',"
    " 'process_instance_ids', jsonb_build_array(p.id))::text as p_decision"
    " from bpm_core.process_instance p where p.tenant_id = %(tenant)s and p.status = 'Running'"
    " union all select jsonb_build_object('action', 'Attach', 'task_ids',"
    " jsonb_build_array(t.id))::text from bpm_core.task_instance t"
    " where t.tenant_id = %(tenant)s and t.state = 'Executing'"
    " union all select jsonb_build_object('action', 'StartProcess', 'process_code', %(mark)s ||"
    " '-line')::text union all select jsonb_build_object('action', 'Correlate', 'message_name',"
    " %(mark)s || '-paid', 'correlation_key', %(mark)s || ' case 4')::text",
    "set_routing_rule.p_code": "select r.code as p_code, r.event_type as p_event_type,"
    " r.action as p_action, r.process_code as p_process_code from bpm_core.routing_rule r"
    " where r.tenant_id = %(tenant)s",
    "delete_routing_rule.p_code": "select r.code as p_code from bpm_core.routing_rule r"
    " where r.tenant_id = %(tenant)s",
    "open_case.p_business_key": "select c.business_key as p_business_key"
    " from bpm_core.business_case c where c.tenant_id = %(tenant)s order by c.created_at desc",
    "close_case.p_business_key": "select c.business_key as p_business_key"
    " from bpm_core.business_case c where c.tenant_id = %(tenant)s order by c.created_at desc",
    "p_subject_key": "select s.subject_type as p_subject_type, s.subject_key as p_subject_key"
    " from bpm_core.subject s where s.tenant_id = %(tenant)s",
    "p_subscription": "select s.code as p_subscription, s.fencing_token as p_fencing_token,"
    " s.cursor_no as p_published_to from bpm_core.event_subscription s"
    " where s.tenant_id = %(tenant)s order by s.code desc",
    "subscribe_events.p_code": "select s.code as p_code from bpm_core.event_subscription s"
    " where s.tenant_id = %(tenant)s",
    "unsubscribe_events.p_code": "select s.code as p_code from bpm_core.event_subscription s"
    " where s.tenant_id = %(tenant)s",
    "p_destination": "select d.code as p_destination from bpm_core.destination d"
    " where d.tenant_id = %(tenant)s order by d.code",
    "subscribe_events.p_process_code": "select d.code as p_process_code"
    " from bpm_core.process_definition d where d.tenant_id = %(tenant)s order by d.code limit 2",
    "p_evidence": "select "
    + ITEMS.format("'object_key', e.object_key, 'sha256', encode(e.sha256, 'hex')")
    + " as p_evidence from bpm_core.evidence e"
    " where e.tenant_id = %(tenant)s and e.purged_at is null order by e.id limit 2",
    "p_facts": "select "
    + ITEMS.format(
        "'subject_type', s.subject_type, 'subject_key', s.subject_key, 'name', 'n',"
        " 'value', 1, 'expected_version', 1"
    )
    + " as p_facts from bpm_core.subject s where s.tenant_id = %(tenant)s",
    "p_bindings": "select "
    + ITEMS.format("'binding_key', 'a', 'workflow', d.code")
    + " as p_bindings from bpm_core.workflow_definition d where d.tenant_id = %(tenant)s"
    " and d.code like '%%-flow'",
    "p_owner_role": "select d.code as p_owner_role from bpm_core.role_definition d"
    " where d.tenant_id = %(tenant)s and d.code like 'mk%%'",
    "publish_role.p_code": "select d.code as p_code from bpm_core.role_definition d"
    " where d.tenant_id = %(tenant)s order by d.code desc",
    "p_tasks": "select jsonb_build_object(%(mark)s || '-one', d.code)::text as p_tasks"
    " from bpm_core.task_definition d where d.tenant_id = %(tenant)s and d.code like '%%-one'",
    "link_session.p_session_id": "select l.channel as p_channel, l.session_id as p_session_id,"
    " l.group_id as p_group_id from bpm_core.session_scope_link l where l.tenant_id = %(tenant)s",
    "p_channel": "select %(mark)s || '-web' as p_channel",
    "turn_destination.p_code": "select d.code as p_code from bpm_core.destination d"
    " where d.tenant_id = %(tenant)s order by d.code",
    "mark_probes.p_items": "select "
    + ITEMS.format(
        "'command_id', o.command_id, 'fencing_token', o.fencing_token, 'outcome', 'Absent'"
    )
    + " as p_items from bpm_core.outbox o where o.tenant_id = %(tenant)s order by o.state",
    "p_after": "select p.id as p_after from bpm_core.process_instance p"
    " where p.tenant_id = %(tenant)s order by p.id limit 1",
    "p_idempotency_key": "select i.key as p_idempotency_key from bpm_core.idempotency_key i"
    " where i.tenant_id = %(tenant)s order by i.key limit 1",
    "p_types": "select array_agg(distinct t.task_type)::text as p_types"
    " from bpm_core.task_instance t where t.tenant_id = %(tenant)s and t.task_type <> 'bpm:user'",
    "p_task_type": "select t.task_type as p_task_type from bpm_core.task_version t"
    " where t.tenant_id = %(tenant)s"
    " and t.task_type not like 'bpm:%%' order by 1 limit 1",
    "correlate_message.p_name": "select s.name as p_name, s.correlation_key as p_correlation_key"
    " from bpm_core.subscription s where s.tenant_id = %(tenant)s and s.kind = 'Message'"
    " and s.workflow_instance_id is not null order by s.state, s.id limit 3",
    "tenants_in_turn.p_after": "select %(tenant)s as p_after",
    "tenants_with_work.p_after": "select %(tenant)s as p_after",
    "p_message_id": "select m.message_id as p_message_id, m.name as p_name,"
    " m.correlation_key as p_correlation_key from bpm_core.message m"
    " where m.tenant_id = %(tenant)s and m.message_id is not null order by m.id limit 3",
    "broadcast_signal.p_name": "select %(mark)s || '-alarm' as p_name",
    "p_xml": "select %(xml)s as p_xml",
    "p_role": f"{ROLES} order by g.role_name limit 1".replace(
        "g.role_name from", "g.role_name as p_role from"
    ),
    "p_tenant_pattern": "select %(tenant)s as p_tenant_pattern",
    "p_new_tenant_id": "select %(tenant)s as p_new_tenant_id",
    "p_suspended_tenant_id": "select %(tenant)s as p_suspended_tenant_id",
    "p_bounded_tenant_id": "select %(tenant)s as p_bounded_tenant_id",
    "p_weighted_tenant_id": "select %(tenant)s as p_weighted_tenant_id",
    "p_resumed_tenant_id": "select %(tenant)s as p_resumed_tenant_id",
    "claim_tasks_at.p_positions": "select %(task_positions)s as p_positions",
    "claim_commands_at.p_positions": "select %(command_positions)s as p_positions",
    "tick.p_positions": "select %(tick_positions)s as p_positions",
    "start_processes.p_items": "select "
    + ITEMS.format(
        "'code', d.code, 'business_key', 'k', 'idempotency_key', %(mark)s || ' start case 0'"
    )
    + " as p_items from bpm_core.process_definition d where d.tenant_id = %(tenant)s",
    "mark_commands.p_items": "select "
    + ITEMS.format(
        "'command_id', o.command_id, 'fencing_token', o.fencing_token, 'outcome', 'Sent'"
    )
    + " as p_items from bpm_core.outbox o where o.tenant_id = %(tenant)s order by o.state",
} | {
    f"{function}.p_items": f"{TASKS} "
    + ITEMS.format(f"'task_id', t.id, 'fencing_token', t.fencing_token{more}")
    + " as p_items from bpm_core.task_instance t where t.tenant_id = %(tenant)s"
    + BY_TASKS
    for function, more in {
        "complete_tasks": ", 'variables', '{}'::jsonb",
        "fail_tasks": ", 'error', 'x'",
        "extend_leases": "",
        "release_tasks": "",
    }.items()
}


@dataclass(frozen=True, slots=True)
class Function:
    """One public function as the catalog has it."""

    name: str
    parameters: tuple[str, ...]
    types: tuple[str, ...]
    required: int

    @property
    def has_tenant(self) -> bool:
        """Whether it takes a tenant."""
        return "p_tenant_id" in self.parameters

    def owned(self) -> list[str]:
        """Keys of :data:`OWNED` that lead parameters of this function."""
        keys = []
        for parameter in self.parameters:
            special = f"{self.name}.{parameter}"
            if special in PLAIN:
                continue
            if special in OWNED:
                keys.append(special)
            elif parameter in OWNED:
                keys.append(parameter)
        return keys

    def unknown(self) -> list[str]:
        """Parameters nothing is known of, or nothing to pass for though they have no default."""
        led = {"p_tenant_id"}
        for key in self.owned():
            led |= {word for word in OWNED[key].replace(",", " ").split() if word.startswith("p_")}
        nothing = object()
        found = []
        for n, p in enumerate(self.parameters):
            plain = PLAIN.get(f"{self.name}.{p}", PLAIN.get(p, nothing))
            if p not in led and (plain is nothing or (plain is None and n < self.required)):
                found.append(p)
        return found

    def call(self, values: Values, tenant: str | None) -> str:
        """The statement, with every type and name written out."""
        given = dict(values)
        if self.has_tenant:
            given["p_tenant_id"] = literal(tenant)
        types = dict(zip(self.parameters, self.types, strict=True))
        parts = [f"{p} => {v}::{types[p]}" for p, v in given.items() if p in types]
        return f"select * from bpm.{self.name}({', '.join(parts)})"


def literal(value: str | None) -> str:
    """A text as an SQL literal."""
    if value is None:
        return "null"
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'" if "\\" in value else f"'{escaped}'"


def functions(conn: Connection) -> list[Function]:
    """All public functions."""
    rows = conn.execute(
        "select p.proname as name, p.proargnames[1 : p.pronargs] as parameters,"
        "       array(select 'pg_catalog.' || format_type(t.oid, null)"
        "               from unnest(p.proargtypes) with ordinality t(oid, n) order by n) as types,"
        "       p.pronargs - p.pronargdefaults as required"
        "  from pg_proc p where p.pronamespace = 'bpm'::regnamespace order by p.proname"
    )
    return [
        Function(
            r["name"], tuple(r["parameters"] or ()), tuple(map(_spelled, r["types"])), r["required"]
        )
        for r in rows
    ]


def _spelled(name: str) -> str:
    special = {
        "pg_catalog.timestamp with time zone": "pg_catalog.timestamptz",
        "pg_catalog.integer": "pg_catalog.int4",
        "pg_catalog.bigint": "pg_catalog.int8",
        "pg_catalog.boolean": "pg_catalog.bool",
    }
    return special.get(name, name)


class Store:
    """The values of each tenant, read once."""

    def __init__(self, conn: Connection, extra: dict[str, dict[str, str]]) -> None:
        self._conn = conn
        self._extra = extra
        self._rows: dict[tuple[str, str], list[Values]] = {}

    def rows(self, key: str, tenant: Tenant) -> list[Values]:
        """Rows of values of one leading parameter."""
        if (key, tenant.name) not in self._rows:
            given = {
                "tenant": tenant.name,
                "mark": tenant.mark,
                "xml": drawings.line(tenant.mark, 3),
                **self._extra[tenant.name],
            }
            found = self._conn.execute(OWNED[key], given)
            self._rows[key, tenant.name] = [
                {name: literal(str(value)) for name, value in row.items() if value is not None}
                for row in found
            ]
            if not self._rows[key, tenant.name]:
                raise LookupError(f"tenant {tenant.name!r} has nothing for {key}: fill the world")
        return self._rows[key, tenant.name]

    def plain(self, function: Function) -> Values:
        """What is the same for everybody."""
        values = {}
        for parameter in function.parameters:
            value = PLAIN.get(f"{function.name}.{parameter}", PLAIN.get(parameter))
            if value is not None:
                values[parameter] = literal(value)
        return values

    def cases(self, function: Function, tenant: Tenant, own: Tenant) -> list[Values]:
        """Sets of arguments: all owned ones of ``tenant``, each row once; then, where there are
        several, one of ``tenant`` and the others of ``own``."""
        plain = self.plain(function)
        keys = function.owned()
        names = set(function.parameters)
        first = {key: self.rows(key, tenant)[0] for key in keys}
        optional = set(function.parameters[function.required :])
        must = [key for key in keys if key.rpartition(".")[2] not in optional]
        base = dict(plain)
        for key in must:
            base |= first[key]
        found: list[Values] = [_only(base, names)]
        for key in keys:
            found += [_only(base | row, names) for row in self.rows(key, tenant)]
        if tenant is not own:
            for key, other in itertools.permutations(keys, 2):
                mixed = plain | self.rows(other, own)[0] | self.rows(key, tenant)[0]
                for rest in must:
                    if rest not in (key, other):
                        mixed = self.rows(rest, own)[0] | mixed
                found.append(_only(mixed, names))
        unique = {json.dumps(case, sort_keys=True): case for case in found}
        return list(unique.values())


def _only(values: Values, names: set[str]) -> Values:
    return {name: value for name, value in values.items() if name in names}
