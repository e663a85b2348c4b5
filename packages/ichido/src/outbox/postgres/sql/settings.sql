-- First in a relay's transactions, and for them alone. How long the server lets one stand idle: a relay that froze or lost its
-- machine between two statements must not keep its session locked past its lease. And nothing is compiled: compiling a
-- reading takes many times as long as the reading. It is decided when a statement is planned, so this must be one before it.
-- Parameters: lease_ms.
-- Rows: one, with nothing to decide by.
-- Guarantee: a transaction whose relay is silent for its lease is ended by the server.
select set_config('idle_in_transaction_session_timeout', ':lease_ms', true), set_config('jit', 'off', true)
