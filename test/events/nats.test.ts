import { brokerSuite } from "./broker-suite.ts";
import { openNatsRig, startNats } from "./nats-rig.ts";
import { describeWith } from "../support/services.ts";

describeWith("nats", "NATS JetStream", (url) => {
  brokerSuite({ name: "nats", dedups: true, url, open: openNatsRig, startServer: startNats });
});
