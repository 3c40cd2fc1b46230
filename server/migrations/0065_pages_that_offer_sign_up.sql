-- module: publishing
-- Whether the content calls the runtime client to sign people up. Known once it is stored; contents that were stored before this
-- migration count as not calling it.
alter table app_blobs add column offers_sign_up boolean not null default false;
