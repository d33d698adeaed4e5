-- Who calls: the role set with SET ROLE, else the login. Inside definer functions too, since neither changes there.
create or replace function bpm_core.caller()
returns text
language sql stable parallel safe
as $$ select coalesce(nullif(current_setting('role'), 'none'), session_user::text) $$;
