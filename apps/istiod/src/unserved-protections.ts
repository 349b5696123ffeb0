import { type Environment, type Setting, SettingError, stringSetting } from "@istiod/settings";

/** A variable that requires a protection that istiod does not implement yet. */
interface UnservedProtection {
  readonly setting: Setting<string>;
  readonly reason: string;
}

/** Starting without them would leave something open that the operator expects to be closed. */
const unservedProtections: readonly UnservedProtection[] = [
  // Workload certificates would be signed by istiod's own key instead of the authority that is meant to hold it.
  {
    setting: stringSetting({ variable: "EXTERNAL_CA", default: "", help: "external certificate authority" }),
    reason:
      "certificates are not signed by an external authority yet; unset it, or plug in an intermediate CA with ROOT_CA_DIR",
  },
  // istiod would serve a certificate of its own CA instead of one of the authority that is meant to sign it.
  {
    setting: stringSetting({
      variable: "PILOT_CERT_PROVIDER",
      default: "istiod",
      help: "authority that signs istiod's serving certificate",
    }),
    reason: "only istiod is supported; to serve another certificate, give --tlsCertFile, --tlsKeyFile and --caCertFile",
  },
];

/** Names of the variables that fail the startup when set, and therefore are not ignored. */
export const unservedProtectionNames: readonly string[] = unservedProtections.flatMap(
  ({ setting }) => setting.variables,
);

/** Checks that no variable requires a protection that istiod does not have. @throws SettingError for the first one */
export function rejectUnservedProtections(env: Environment): void {
  for (const { setting, reason } of unservedProtections) {
    const [name = ""] = setting.variables;
    const value = setting.read(env);
    if (value !== setting.default) throw new SettingError(`${name}=${env[name] ?? ""}: ${reason}`);
  }
}
