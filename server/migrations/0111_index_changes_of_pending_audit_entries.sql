-- module: audit
-- transaction: none
create index concurrently audit_pending_changed on audit_pending (changed_in);
