import { brokerSuite } from "./broker-suite.ts";
import { openRabbitmqRig, startRabbitmq } from "./rabbitmq-rig.ts";
import { describeWith } from "../support/services.ts";

describeWith("rabbitmq", "RabbitMQ", (url) => {
  brokerSuite({ name: "rabbitmq", dedups: false, url, open: openRabbitmqRig, startServer: startRabbitmq });
});
