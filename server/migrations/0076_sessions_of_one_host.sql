-- module: core
-- Whether a session's cookie has the name that browsers accept only from this host, over https. Sessions that began
-- before keep the plain name until they end.

alter table credentials add column host_cookie boolean not null default false;
