-- How messages name an element: serviceTask "charge-card" (Charge the card).
create or replace function bpm_core.element_label(p_tag text, p_id text, p_name text)
returns text
language sql immutable parallel safe
as $$ select p_tag || ' "' || left(p_id, 200) || '"' || coalesce(' (' || left(nullif(regexp_replace(p_name, '\s+', ' ', 'g'), ''), 100) || ')', '') $$;
