import { brokerSuite } from "./broker-suite.ts";
import { openRabbitRig, startRabbitmq } from "./rabbitmq-rig.ts";
import { describeWith } from "../support/services.ts";

describeWith("rabbitmq", "RabbitMQ", (url) => {
  brokerSuite({ name: "rabbitmq", dedups: false, url, open: openRabbitRig, startServer: startRabbitmq });
});
