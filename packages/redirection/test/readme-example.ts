import { equal } from "node:assert/strict";
import { buildCaptureRules, defaultCaptureConfig, formatRestoreInput } from "@istiod/redirection";

const config = { ...defaultCaptureConfig, inboundPorts: "8000", outboundRanges: "10.0.0.0/8" };
const lines = formatRestoreInput(buildCaptureRules(config, 4)).split("\n");
equal(
  lines.filter((line) => line.startsWith("-A ISTIO_INBOUND")).at(-1),
  "-A ISTIO_INBOUND -p tcp --dport 8000 -j ISTIO_IN_REDIRECT",
);
