-- The shop's database, as the example needs it:
--
--     sqlite3 configs/refunds/shop.db < configs/refunds/shop.sql
--
-- Amounts are whole cents. A customer is who the channel says that the person is:
-- "console" is whoever types in `parley chat`; of WhatsApp it would be the number.
create table orders (
  id text primary key,
  customer text not null,
  item text not null,
  cents integer not null check (cents > 0)
);

create table refunds (
  id integer primary key,
  call text not null unique, -- the id of the call that made it
  order_id text not null references orders (id),
  customer text not null,
  cents integer not null check (cents between 1 and 20000),
  reason text not null check (reason in ('defective', 'not_received', 'duplicate')),
  at text not null default (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
);

-- The rules hold whoever writes, in the transaction that writes: two refunds at
-- the same moment can't both see the same money left. They are one trigger, for
-- the order of several isn't defined; the first that fits is what the model is told.
create trigger refunds_have_rules before insert on refunds
begin
  select case
    -- the same words whether the order is somebody else's or there is none
    when not exists (select 1 from orders where id = new.order_id and customer = new.customer)
      then raise(abort, 'The person has no such order.')
    when new.cents > (select cents from orders where id = new.order_id)
        - (select coalesce(sum(cents), 0) from refunds where order_id = new.order_id)
      then raise(abort, 'That is more than is left to refund of this order.')
    when new.cents + (select coalesce(sum(cents), 0) from refunds
        where customer = new.customer and at > strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-30 days')) > 20000
      then raise(abort, 'Refunds by chat are used up for these 30 days. The shop can help by phone.')
  end;
end;

create trigger refunds_stay before update on refunds
begin
  select raise(abort, 'A refund that was made stays as it is.');
end;

insert into orders (id, customer, item, cents) values
  ('A-1001', 'console', 'Kettle', 4500),
  ('A-1002', 'console', 'Coffee machine', 18000),
  ('A-1003', 'console', 'Toaster', 6000),
  ('A-2001', 'somebody-else', 'Blender', 9000);
