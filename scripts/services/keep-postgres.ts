/**
 * Keeps a private PostgreSQL for the process that forked this one: says where it answers, and ends it when the channel
 * between the two closes, which also happens when that process is killed. Killed itself, its reaper ends the server.
 */
import { startPostgres } from "./postgres.ts";

const wait = (): void => undefined;
// A signal to the whole group (Ctrl-C): its parent still works with the server, and closes the channel when it is done.
process.on("SIGINT", wait).on("SIGTERM", wait);

const starting = startPostgres();
const end = async (): Promise<void> => {
  await starting.then((server) => server.stop()).catch(() => undefined);
  process.exit(0);
};
process.once("disconnect", () => void end());
try {
  const { url, pid } = await starting;
  process.send?.({ url, pid });
} catch (error) {
  process.send?.({ reason: (error as Error).message });
}
if (!process.connected) await end();
