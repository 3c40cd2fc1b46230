-- module: kit
-- The notes of an answer, sent again with a replay. Answers that were stored before had no notes.
alter table idempotency_keys add column headers jsonb not null default '{}';
