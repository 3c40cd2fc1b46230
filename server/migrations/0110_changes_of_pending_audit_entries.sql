-- module: audit
-- `changed_in` is the transaction that inserted a pending audit entry. The sealer finds new entries by it, and so need not read past
-- those that were sealed before (docs/internals/audit-log.md#how-the-sealer-finds-entries). Entries that are pending now have none:
-- a worker's first look finds them by state. A default is enough, where queues and events need a trigger, because pending entries
-- are never updated; and every change pays for it. It is set separately, since a column added with it would rewrite the table.
alter table audit_pending add column changed_in xid8;
alter table audit_pending alter column changed_in set default pg_current_xact_id();
