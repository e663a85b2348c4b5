/** What is in a schema, as text, by questions to the catalogue: alike on all versions of the server. */
import type pg from "pg";

const questions = {
  table: `select c.relname || coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '')
    from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by c.relname`,
  column: `select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
      || case when l.collname = 'C' then ' collate "C"' else '' end
      || case when a.attnotnull then ' not null' else '' end
      || case when a.attidentity = 'a' then ' generated always as identity' else '' end
      || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    left join pg_collation l on l.oid = a.attcollation
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 order by c.relname, a.attnum`,
  // Not-null constraints have rows of their own since version 18; the columns tell of them.
  constraint: `select line from (select c.relname || ' ' || pg_get_constraintdef(o.oid) as line
    from pg_constraint o join pg_class c on c.oid = o.conrelid
    where o.connamespace = 'public'::regnamespace and o.contype <> 'n') x order by line collate "C"`,
  index: `select line from (select pg_get_indexdef(i.indexrelid) as line from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relnamespace = 'public'::regnamespace) x order by line collate "C"`,
  function: `select p.proname || '(' || pg_get_function_arguments(p.oid) || ') with '
      || coalesce(array_to_string(p.proconfig, ', '), 'nothing set') || E'\\n' || p.prosrc
    from pg_proc p where p.pronamespace = 'public'::regnamespace order by p.proname`,
} as const;

export async function describeSchema(pool: pg.Pool): Promise<string> {
  const lines: string[] = [];
  for (const [kind, sql] of Object.entries(questions)) {
    const { rows } = await pool.query<[string]>({ text: sql, rowMode: "array" });
    for (const [line] of rows) lines.push(`-- ${kind}: ${line}`);
  }
  return `${lines.join("\n")}\n`;
}
