-- module: webhooks
-- The deliveries of a pull webhook wait until a program has read and acknowledged them. They are never due, so no queue knows of
-- them. `pull:` stands where an address would be, because workers of the release before call no such address.
alter table webhooks add column mode text not null default 'push' check (mode in ('push', 'pull'));
alter table webhooks add constraint webhooks_target_of_mode check ((mode = 'pull') = (target_url = 'pull:'));
create index webhooks_pulled on webhooks (id) where mode = 'pull';
