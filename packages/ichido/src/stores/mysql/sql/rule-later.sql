-- Whoever runs, or ran last, under the key since the life that is over: :fence was one of that life.
select 1 from {records} r where r.`key` = :key and r.scope_hash = :scopeHash and r.life > :fence
