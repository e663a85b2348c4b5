-- Makes room for a step under the present life of the record; nobody sees it before `start-step`.
-- Parameters: :name; the claim.
-- Result: nothing to decide by.
-- Guarantee: changes nothing that anyone reads.
insert into {steps} (`key`, scope_hash, life, name)
select `key`, scope_hash, life, :name from {records} where {own}
on duplicate key update {steps}.life = {steps}.life
