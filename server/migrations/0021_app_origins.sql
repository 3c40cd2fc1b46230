-- module: core

-- The origins of all apps are read when a web page of an unknown origin calls. Few apps list any.
create index apps_with_origins on apps (id) where public_origins <> '{}' and deleted_date is null;
