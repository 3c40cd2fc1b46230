-- module: accounts
-- Reset mails are queued by address. A worker finds out whether the address has an account, because a request that did so would
-- take longer for one that has.
alter table reset_mails alter column user_id drop not null;
alter table reset_mails add column email text;
-- The queue's owner. It is made from the address, which may belong to nobody.
alter table reset_mails add column address_id uuid;
update reset_mails m set email = u.email, address_id = md5(u.email)::uuid from users u where u.id = m.user_id;
drop index reset_mails_of_owner;
create index reset_mails_of_owner on reset_mails (address_id, due_at) where claimed_slot is null and due_at is not null;
drop trigger queue_row_changed on reset_mails;
create trigger queue_row_changed before update of due_at, claimed_slot, address_id on reset_mails for each row
  when ((old.due_at, old.claimed_slot, old.address_id) is distinct from (new.due_at, new.claimed_slot, new.address_id))
  execute function note_queue_change();

-- API processes of the release before queue a mail for a user until they are restarted.
create function address_reset_mail() returns trigger language plpgsql as $$ begin
  select u.email, md5(u.email)::uuid into new.email, new.address_id from users u where u.id = new.user_id;
  return new;
end $$;
create trigger reset_mail_of_user before insert on reset_mails for each row when (new.user_id is not null)
  execute function address_reset_mail();
alter table reset_mails alter column email set not null, alter column address_id set not null;
