import { equal, match } from "node:assert/strict";
import { loggingFlags, openLog, plainLine } from "@istiod/logging";
import { readSettings } from "@istiod/settings";

const flags = { ...readSettings(loggingFlags, {}), log_output_level: "ads:debug,all:error", log_target: ["/dev/null"] };
const { log, scopes } = openLog(flags, { ads: "Streams of proxies" });
log.child({ scope: "ads" }).warn({ proxy: "web" }, "rejected");
equal(scopes.get("ads")?.output, "error");

scopes.set("ads", { output: "debug" });
equal(scopes.get("ads")?.output, "debug");

match(
  plainLine('{"time":"10:00","level":"warn","scope":"ads","msg":"rejected","proxy":"web"}'),
  /^10:00\twarn\tads\trejected\tproxy=web\n$/,
);
