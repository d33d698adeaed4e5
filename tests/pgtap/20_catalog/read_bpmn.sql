-- The reader: what it takes, and what hostile or broken text gets.
begin;
select plan(40);

create function pg_temp.said(p_xml text) returns text language sql as $$
  select coalesce((select f.code || coalesce(' ' || f.line, '') || ': ' || f.message from unnest(r.findings) f), cardinality(r.elements) || ' elements')
    from bpm_core.read_bpmn(p_xml) r
$$;
create function pg_temp.rows(p_xml text) returns setof bpm_core.bpmn_element language sql as $$
  select e.* from bpm_core.read_bpmn(p_xml) r cross join lateral unnest(r.elements) e
$$;
create function pg_temp.file(p_inside text) returns text language sql as $$
  select '<b:definitions xmlns:b="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:c="http://camunda.org/schema/1.0/bpmn" xmlns:own="urn:pgbpm:bpmn:1"
    xmlns:x="http://example.org/x" xmlns:di="http://www.omg.org/spec/BPMN/20100524/DI">' || p_inside || '</b:definitions>'
$$;

-- rows
select results_eq(
  $$select e.pos, e.parent, e.space, e.tag, e.id, e.attributes, e.body from pg_temp.rows(pg_temp.file(
      '<b:process id="p" isExecutable="true"><b:serviceTask c:topic="t" id="a" name="A"/><b:task id="b"><b:documentation>  two
 lines </b:documentation></b:task></b:process>')) e$$,
  $$values (1, 0, 'bpmn', 'process', 'p', '{"id": "p", "isExecutable": "true"}'::jsonb, ''),
           (2, 1, 'bpmn', 'serviceTask', 'a', '{"id": "a", "name": "A", "camunda:topic": "t"}', ''),
           (3, 1, 'bpmn', 'task', 'b', '{"id": "b"}', ''),
           (4, 3, 'bpmn', 'documentation', null, '{}', E'two\n lines')$$,
  'every attribute finds its element, every element its parent');
select results_eq($$select e.tag, e.attributes from pg_temp.rows(pg_temp.file('<b:process><b:task/><b:task x:lost="1" own:type="t" id=" i "/></b:process>')) e$$,
  $$values ('process', '{}'::jsonb), ('task', '{}'), ('task', '{"id": " i ", "bpm:type": "t"}')$$, 'attributes of namespaces that are not known are left out');
select results_eq($$select e.pos, e.parent, e.tag from pg_temp.rows(pg_temp.file('<b:process id="p"><x:foreign><x:deep/></x:foreign><b:task id="t"/></b:process>')) e$$,
  $$values (1, 0, 'process'), (4, 1, 'task')$$, 'and so are their elements');
select is_empty($$select 1 from pg_temp.rows(pg_temp.file('<di:BPMNDiagram id="d"><di:BPMNPlane id="p" bpmnElement="x"/></di:BPMNDiagram>')) e$$, 'the diagram is not read');
select is((select e.body from pg_temp.rows(pg_temp.file('<b:process><b:script><!-- c -->a <![CDATA[<b>]]> &amp; c</b:script></b:process>')) e where e.tag = 'script'),
  'a <b> & c', 'text comes together from text, CDATA and entities');
select is((select e.id from pg_temp.rows(pg_temp.file('<b:process><b:task id="việc_1" name="中文"/></b:process>')) e where e.tag = 'task'), 'việc_1', 'ids in any script');

-- any prefix, any declaration
select is(pg_temp.said('<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"><process id="p"/></definitions>'), '1 elements', 'no prefix');
select is(pg_temp.said('<semantic:definitions xmlns:semantic="http://www.omg.org/spec/BPMN/20100524/MODEL"><semantic:process id="p"/></semantic:definitions>'), '1 elements', 'any prefix');
select is(pg_temp.said(E'\ufeff<?xml version="1.0" encoding="UTF-8"?>\n' || pg_temp.file('<b:process/>')), '1 elements', 'byte order mark');
select is(pg_temp.said('<?xml version="1.0" encoding="ISO-8859-1"?>' || pg_temp.file('<b:process id="ü"/>')), '1 elements', 'the stated encoding does not matter in a text');
select is(pg_temp.said('<?xml version="1.0"?><!-- one --><?two three?><!-- > -->' || pg_temp.file('<b:process/>')), '1 elements', 'comments and instructions before the root');
select is(pg_temp.said(pg_temp.file('<b:process><b:documentation><![CDATA[<!DOCTYPE html>]]></b:documentation></b:process>')), '2 elements', 'the word in a text is no declaration');
select is(pg_temp.said('<html/>'), '0 elements', 'another root has nothing for us');
select is(pg_temp.said('<definitions xmlns="http://example.org/other"><process id="p"/></definitions>'), '0 elements', 'nor has another namespace');

-- broken
select matches(pg_temp.said(''), '^InvalidXml', 'empty');
select matches(pg_temp.said('no xml'), '^InvalidXml 1: Not well-formed: Start tag expected', 'text');
select is(pg_temp.said(E'<a>\n  <b></c>\n</a>'), 'InvalidXml 2: Not well-formed: Opening and ending tag mismatch: b line 2 and c (line 2, column 10).', 'line and column');
select matches(pg_temp.said(E'<a>\n' || repeat(' ', 300) || '<b></c></a>'), 'tag mismatch: b line 2 and c \(line 2, column 30[789]\)',
  'the column too on a line that is cut in the message');
select matches(pg_temp.said('<a x="1" x="2"/>'), '^InvalidXml 1: .*Attribute x redefined', 'an attribute twice');
select matches(pg_temp.said('<a x=1/>'), '^InvalidXml 1: ', 'an attribute without quotes');
select matches(pg_temp.said('<a>&unknown;</a>'), '^InvalidXml 1: .*Entity ''unknown'' not defined', 'an entity nobody defined');
select matches(pg_temp.said('<a/><b/>'), '^InvalidXml 1: ', 'two roots');
select matches(pg_temp.said(E'<a>\n<b:process id="p"/></a>'), '^InvalidXml 2: .*Namespace prefix b on process is not defined \(line 2', 'an unbound prefix');
select matches(pg_temp.said(E' <?xml version="1.0"?><a/>'), '^InvalidXml', 'something before the XML declaration');
select matches(pg_temp.said('<a'), '^InvalidXml', 'cut off');

-- hostile: nothing is read from disk or net, nothing is expanded, nothing hangs
select is(pg_temp.said('<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>'),
  'InvalidXml 1: The file carries a document type declaration (<!DOCTYPE …>), which is never read (line 1, column 1).', 'an external entity');
select matches(pg_temp.said(E'\ufeff<?xml version="1.0"?>\n<!-- <?x?> -->\n  <!DOCTYPE a SYSTEM "http://example.org/x.dtd"><a/>'), '^InvalidXml 3: .*document type declaration .* \(line 3, column 3\)', 'an external subset, behind comments, with its place');
select matches(pg_temp.said('<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]><a>&c;</a>'), 'document type declaration', 'nested entities');
select matches(pg_temp.said('<!doctype a><a/>'), '^InvalidXml', 'in small letters it is not even XML');
select matches(pg_temp.said('<!--' || repeat('x', 70000) || '--><!DOCTYPE a><a/>'), '^InvalidXml: No root element within', 'pushed out of sight by a long comment');
select matches(pg_temp.said(repeat('<!---->', 200) || '<!DOCTYPE a><a/>'), '^InvalidXml: No root element within', 'or by many');
select matches(pg_temp.said('<!-- <!DOCTYPE a>'), '^InvalidXml: No root element within', 'in a comment that never ends');
select matches(pg_temp.said('<?pi <!DOCTYPE a>'), '^InvalidXml: No root element within', 'in an instruction that never ends');
select matches(pg_temp.said(repeat('<a>', 5000) || repeat('</a>', 5000)), '^InvalidXml 1: .*[Dd]epth', 'too deep');
select is(pg_temp.said(pg_temp.file('<b:process>' || repeat('<b:task/>', 100000) || '</b:process>')), 'TooLarge: The file has 100002 elements; the limit is 100000.', 'too many elements');
select matches(pg_temp.said(pg_temp.file('<b:process>' || repeat(' ', 5000000) || '</b:process>')), '^TooLarge: The file has 5000\d+ bytes; the limit is 4194304', 'too many bytes');
insert into bpm_core.setting values ('catalog.max_bpmn_bytes', '2000', bpm_core.now(), 'test');
select matches(pg_temp.said(pg_temp.file(repeat('ü', 900))), '^TooLarge: The file has 2\d\d\d bytes; the limit is 2000', 'the limit is a setting, and counts bytes');

-- the other texts of a fault
select is((bpm_core.xml_fault('x', 'out of order', null)).message, 'Not well-formed: out of order.', 'a fault without detail');
select is((select (r.findings[1]).hint from bpm_core.read_bpmn('<a') r), 'Open the file in an XML editor or export it again.', 'the hint says what to do');
select is((select cardinality(r.elements) from bpm_core.read_bpmn('<a') r), 0, 'and there are no elements');

select * from finish();
rollback;
