import type { TransactionHandle } from "ichido";

/** No unique name: a second effect must be visible, not prevented. */
export async function addEffect(handle: TransactionHandle, name: string, once: string | null = null): Promise<void> {
  const sql =
    handle.dialect === "postgres"
      ? "INSERT INTO effects (name, once) VALUES ($1, $2)"
      : "INSERT INTO effects (name, once) VALUES (?, ?)";
  await handle.execute(sql, [name, once]);
}
