import { drivers } from "../stores/redis-clients.ts";
import { describeWith } from "../support/services.ts";
import { brokerSuite } from "./broker-suite.ts";
import { redisUnderTest } from "./redis-streams-rig.ts";

describeWith("redis", "redis streams", (url) => {
  for (const driver of drivers) brokerSuite(redisUnderTest(driver, url));
});
