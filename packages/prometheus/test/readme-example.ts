import { match } from "node:assert/strict";
import { prometheusMeter } from "@istiod/prometheus";
import { Registry } from "prom-client";

const registry = new Registry();
const requests = prometheusMeter(registry).counter({ name: "requests_total", help: "Requests.", labels: ["code"] });
requests.add({ code: "200" });
match(await registry.metrics(), /^requests_total\{code="200"\} 1$/m);
