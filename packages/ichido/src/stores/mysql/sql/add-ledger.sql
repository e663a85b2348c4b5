-- Notes that a migration ran. Comes after its last statement: a migration that died half-way is run again.
-- Parameters: :part, :version, :name, :checksum.
-- Result: nothing to decide by.
-- Guarantee: may be run again.
insert into {prefix}migrations (part, version, name, checksum, applied_us)
values (:part, :version, :name, :checksum, {now})
on duplicate key update checksum = :checksum
