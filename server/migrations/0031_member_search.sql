-- module: members
-- Search in the members list ignores case in every script, and whether a letter is composed or decomposed.

/*
 * Two texts that differ only in case are equal after this. Lower case first and then upper case, because neither is enough:
 * the final sigma (ς) and ß only meet σ and SS in upper case, and the capital ẞ only meets ß in lower case.
 */
create function fold_case(value text) returns text language sql immutable parallel safe strict as $$
  select normalize(upper(lower(normalize(value, nfc) collate "und-x-icu") collate "und-x-icu"), nfc) $$;

create or replace function find_words(workspace uuid, terms text[], patterns text[], most integer)
  returns table (id uuid, place smallint, email text) language plpgsql stable
  set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
  return query select w.id, w.place, w.email
    from (select fold_case(t.term) as term, fold_case(t.pattern) as pattern
        from unnest(terms, patterns) t (term, pattern)) t,
      lateral (select m.id, m.place, m.email from member_words m where m.workspace_id = workspace
        and word_pieces(m.workspace_id, m.email, m.name) @> term_pieces(workspace, t.term)
        and (m.email like t.pattern or m.name like t.pattern)) w
    limit most + 1;
end $$;

create or replace function keep_words() returns trigger language plpgsql as $$
begin
  insert into member_words select workspace_id, id, place, fold_case(email), fold_case(full_name) from came;
  return null;
end $$;

create or replace function keep_changed_words() returns trigger language plpgsql as $$
begin
  update member_words w set place = c.place, email = fold_case(c.email), name = fold_case(c.full_name)
    from came c join went o using (workspace_id, id)
    where w.workspace_id = c.workspace_id and w.id = c.id
      and (c.place, c.email, c.full_name) <> (o.place, o.email, o.full_name);
  return null;
end $$;

-- The index is built again afterwards: that takes less time than changing it row by row.
drop index member_words_pieces;
update member_words w set email = fold_case(d.email), name = fold_case(d.full_name)
  from member_directory d where d.workspace_id = w.workspace_id and d.id = w.id;
create index member_words_pieces on member_words using gin (word_pieces(workspace_id, email, name))
  with (fastupdate = off);
