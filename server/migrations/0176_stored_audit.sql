-- module: core
-- Counted, but never refused.
call count_stored('audit_entries', 'audit', '500 + octet_length(entry::text)');
