import { equal } from "node:assert/strict";
import { captureRules, defaultCapture, restoreInput } from "@istiod/redirection";

const capture = { ...defaultCapture, inboundPorts: "8000", outboundRanges: "10.0.0.0/8" };
const lines = restoreInput(captureRules(capture, 4)).split("\n");
equal(
  lines.filter((line) => line.startsWith("-A ISTIO_INBOUND")).at(-1),
  "-A ISTIO_INBOUND -p tcp --dport 8000 -j ISTIO_IN_REDIRECT",
);
