/**
 * PostgreSQL ends a transaction of a client that it hears nothing of, also where the connection is half open and no end of
 * it ever arrives. For this transaction alone, and never longer than the session has it.
 */
const name = "idle_in_transaction_session_timeout";

export const idleTimeout =
  `select set_config('${name}', case when current_setting('${name}')::interval between interval '1 ms' and ` +
  `$1::text::bigint * interval '1 ms' then current_setting('${name}') else $1::text end, true)`;
