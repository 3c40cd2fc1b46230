-- module: core
-- Where a browser session was started, for the person's list of their sessions. Null for sessions from before.

alter table credentials
  add column address text,
  add column browser text;
