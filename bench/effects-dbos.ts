/** The same ten steps as a DBOS workflow, on the same server in a database of its own. */
import { DBOS } from "@dbos-inc/dbos-sdk";

export interface Workflows {
  empty(): Promise<unknown>;
  steps(): Promise<unknown>;
  close(): Promise<void>;
}

export async function dbosWorkflows(databaseUrl: string, stepsEach: number): Promise<Workflows> {
  const steps = DBOS.registerWorkflow(
    async () => {
      for (let step = 0; step < stepsEach; step += 1) {
        await DBOS.runStep(async () => "ch_1", { name: `call ${step}` });
      }
      return "{}";
    },
    { name: "steps" },
  );
  const empty = DBOS.registerWorkflow(async () => "{}", { name: "empty" });
  DBOS.setConfig({ name: "ichido-bench", systemDatabaseUrl: databaseUrl, logLevel: "error" });
  await DBOS.launch();
  return { empty: () => empty(), steps: () => steps(), close: () => DBOS.shutdown() };
}
