-- The functions and methods that are understood. Arguments count the value a method hangs on.
-- Returns:  name, under which call_tree and evaluate_call know it; null: not understood; and fewest and most arguments.
create or replace function bpm_core.known_call(p_name text, p_feel boolean, p_method boolean, out name text, out fewest integer, out most integer)
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select k.name, k.fewest, k.most
    from (values
      ('feel', 'not', 'not', 1, 1), ('feel', 'is defined', 'defined', 1, 1), ('feel', 'matches', 'matches', 2, 3), ('feel', 'contains', 'contains', 2, 2),
      ('feel', 'starts with', 'starts with', 2, 2), ('feel', 'ends with', 'ends with', 2, 2), ('feel', 'string length', 'length', 1, 1),
      ('feel', 'upper case', 'upper case', 1, 1), ('feel', 'lower case', 'lower case', 1, 1), ('feel', 'trim', 'trim', 1, 1),
      ('feel', 'substring', 'substring', 2, 3), ('feel', 'substring before', 'substring before', 2, 2), ('feel', 'substring after', 'substring after', 2, 2),
      ('feel', 'string join', 'string join', 1, 2), ('feel', 'string', 'string', 1, 1), ('feel', 'number', 'number', 1, 1),
      ('feel', 'list contains', 'list contains', 2, 2), ('feel', 'count', 'count', 1, 1), ('feel', 'is empty', 'is empty', 1, 1),
      ('feel', 'sum', 'sum', 1, 100), ('feel', 'min', 'min', 1, 100), ('feel', 'max', 'max', 1, 100), ('feel', 'mean', 'mean', 1, 100),
      ('feel', 'all', 'all', 1, 1), ('feel', 'any', 'any', 1, 1), ('feel', 'append', 'append', 2, 100), ('feel', 'concatenate', 'concatenate', 1, 100),
      ('feel', 'reverse', 'reverse', 1, 1), ('feel', 'distinct values', 'distinct values', 1, 1), ('feel', 'index of', 'index of', 2, 2),
      ('feel', 'sublist', 'sublist', 2, 3), ('feel', 'get value', 'get', 2, 2), ('feel', 'get or else', 'or else', 2, 2),
      ('feel', 'floor', 'floor', 1, 1), ('feel', 'ceiling', 'ceiling', 1, 1), ('feel', 'round', 'round', 1, 2), ('feel', 'round half up', 'round', 1, 2),
      ('feel', 'decimal', 'decimal', 2, 2), ('feel', 'abs', 'abs', 1, 1), ('feel', 'modulo', 'modulo', 2, 2), ('feel', 'even', 'even', 1, 1), ('feel', 'odd', 'odd', 1, 1),
      ('feel', 'date', 'date', 1, 3), ('feel', 'time', 'time', 1, 1), ('feel', 'date and time', 'date and time', 1, 2), ('feel', 'duration', 'duration', 1, 1),
      ('feel', 'now', 'now', 0, 0), ('feel', 'today', 'today', 0, 0),
      ('juel', 'now', 'now', 0, 0), ('juel', 'dateTime', 'now', 0, 0),
      ('method', 'equals', 'equals', 2, 2), ('method', 'equalsIgnoreCase', 'equals ignore case', 2, 2), ('method', 'matches', 'matches whole', 2, 2),
      ('method', 'contains', 'holds', 2, 2), ('method', 'startsWith', 'starts with', 2, 2), ('method', 'endsWith', 'ends with', 2, 2),
      ('method', 'isEmpty', 'is empty', 1, 1), ('method', 'size', 'count', 1, 1), ('method', 'length', 'length', 1, 1),
      ('method', 'toUpperCase', 'upper case', 1, 1), ('method', 'toLowerCase', 'lower case', 1, 1), ('method', 'trim', 'trim', 1, 1),
      ('method', 'substring', 'substring from 0', 2, 3), ('method', 'toString', 'string', 1, 1), ('method', 'get', 'get', 2, 2),
      ('method', 'containsKey', 'contains key', 2, 2), ('method', 'getOrDefault', 'get or default', 3, 3),
      ('method', 'plusYears', 'plus years', 2, 2), ('method', 'plusMonths', 'plus months', 2, 2), ('method', 'plusWeeks', 'plus weeks', 2, 2),
      ('method', 'plusDays', 'plus days', 2, 2), ('method', 'plusHours', 'plus hours', 2, 2), ('method', 'plusMinutes', 'plus minutes', 2, 2),
      ('method', 'plusSeconds', 'plus seconds', 2, 2), ('method', 'minusYears', 'minus years', 2, 2), ('method', 'minusMonths', 'minus months', 2, 2),
      ('method', 'minusWeeks', 'minus weeks', 2, 2), ('method', 'minusDays', 'minus days', 2, 2), ('method', 'minusHours', 'minus hours', 2, 2),
      ('method', 'minusMinutes', 'minus minutes', 2, 2), ('method', 'minusSeconds', 'minus seconds', 2, 2),
      ('method', 'isAfter', 'is after', 2, 2), ('method', 'isBefore', 'is before', 2, 2), ('method', 'toDate', 'itself', 1, 1)) k(language, word, name, fewest, most)
   where k.word = p_name and k.language = case when p_feel then case when p_method then 'none' else 'feel' end when p_method then 'method' else 'juel' end
  union all
  select null, null, null
   limit 1
$$;
