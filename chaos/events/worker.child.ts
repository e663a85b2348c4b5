/** One process of the fleet: it writes, sends or consumes. */
import { openSide } from "../sides/side.ts";
import { startConsumer } from "./consumer.ts";
import { startRelay } from "./relay.ts";
import { readEventsSetup } from "./setup.ts";
import { startWriter } from "./writer.ts";

const setup = readEventsSetup();
const side = await openSide(setup.store, setup.url);
if (setup.role === "writer") await startWriter(side);
else await (setup.role === "relay" ? startRelay : startConsumer)(side, setup);
