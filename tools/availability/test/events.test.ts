import { startInMemoryCluster, type TestCluster } from "@istiod/outage";
import { whyNoEnvoy, whyNoProcess } from "@istiod/e2e";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { webhookCertificate } from "../src/events/certificates.js";
import { killOne } from "../src/events/kills.js";
import { apiServerGone, rollingRestart } from "../src/events/operations.js";
import { upgrade } from "../src/events/upgrade.js";
import { Rig } from "../src/rig.js";
import { runEvent } from "../src/run-event.js";
import { failuresOf } from "../src/verdict.js";

const reason =
  process.platform === "linux" ? ((await whyNoEnvoy()) ?? whyNoProcess()) : "loopback addresses of Linux are needed";
const timeoutMs = 600_000;

let cluster: TestCluster;
let rig: Rig;

beforeEach(({ skip }) => skip(reason !== undefined, reason));

beforeAll(async () => {
  if (reason !== undefined) return;
  cluster = await startInMemoryCluster();
  rig = await Rig.start(cluster, {
    streams: 20,
    requestsPerSecond: 50,
    changeMs: 300,
    admissionMs: 200,
    replicas: 2,
    drainSeconds: 2,
    certificateLifetime: "1h",
  });
}, timeoutMs);

afterAll(async () => {
  await rig?.close();
  await cluster?.stop();
}, timeoutMs);

it.each([killOne, rollingRestart, apiServerGone, webhookCertificate, upgrade])(
  "no request fails and no update is lost: $name",
  async (event) => {
    const result = await runEvent(rig, event, { faultSeconds: 3 });
    expect(failuresOf(result)).toEqual([]);
  },
  timeoutMs,
);
