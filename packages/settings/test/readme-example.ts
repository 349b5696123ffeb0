import { deepEqual, equal, throws } from "node:assert/strict";
import {
  booleanSetting,
  durationSetting,
  environmentReport,
  environmentWarnings,
  integerSetting,
  readSettings,
  settingsReference,
  variablesOf,
} from "@istiod/settings";
import { SettingsCommand } from "@istiod/settings/command";

const settings = {
  keepalive: durationSetting({
    flag: "keepaliveInterval",
    variable: "GRPC_KEEPALIVE_INTERVAL",
    default: 30_000,
    help: "interval of pings",
  }),
  throttle: integerSetting({ variable: "PILOT_PUSH_THROTTLE", default: 15, help: "concurrent pushes" }, { min: 1 }),
  profile: booleanSetting({ flag: "profile", default: true, help: "serve profiles" }),
};

const env = { GRPC_KEEPALIVE_INTERVAL: "1m30s", PILOT_PUSH_THROTLE: "7" };
deepEqual(readSettings(settings, env), { keepalive: 90_000, throttle: 15, profile: true });
throws(() => settings.throttle.read({ PILOT_PUSH_THROTTLE: "many" }), {
  message: 'invalid value "many" for PILOT_PUSH_THROTTLE: expected an integer of at least 1',
});

const command = new SettingsCommand("serve").argument("[dir]").addSettings(settings, env);
command.parse(["--profile=f", "mesh", "--keepaliveInterval", "10s"], { from: "user" });
deepEqual(command.opts(), { keepalive: 10_000, throttle: 15, profile: false });
deepEqual(command.args, ["mesh"]);

equal(
  settingsReference({ Pushes: { throttle: settings.throttle } }),
  `## Pushes

| name | type | default | description |
|---|---|---|---|
| \`PILOT_PUSH_THROTTLE\` | integer | \`15\` | concurrent pushes |
`,
);

const report = environmentReport({ env, read: variablesOf(settings), istio: ["PILOT_PUSH_THROTTLE"] });
deepEqual(environmentWarnings(report), [
  "unknown environment variable PILOT_PUSH_THROTLE; did you mean PILOT_PUSH_THROTTLE?",
]);
