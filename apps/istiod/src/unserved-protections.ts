import { booleanVariable, type Environment, SettingError, textVariable } from "@istiod/settings";

/** A variable that asks for a protection that istiod does not have. */
interface UnservedProtection {
  isRequested(env: Environment): boolean;
  readonly name: string;
  readonly why: string;
}

const flagged = (name: string, why: string): UnservedProtection => ({
  name,
  why,
  isRequested: (env) => booleanVariable(name, false).read(env),
});
const given = (name: string, why: string): UnservedProtection => ({
  name,
  why,
  isRequested: (env) => textVariable(name).read(env) !== "",
});

/** Starting without them would leave something open that somebody wants to be closed. */
const unservedProtections: readonly UnservedProtection[] = [
  // Anybody who reaches the plaintext port would be given the configuration of any proxy.
  flagged(
    "XDS_AUTH_PLAINTEXT",
    'callers of the plaintext xDS port are not authenticated yet; unset it, and close that port with --grpcAddr "" if it must not be open',
  ),
  // Workload certificates would be signed by istiod's own key instead of the authority that is meant to hold it.
  given(
    "EXTERNAL_CA",
    "certificates are not signed by an external authority yet; unset it, or plug in an intermediate CA with ROOT_CA_DIR",
  ),
  // Proxies would go on accepting certificates that were revoked.
  flagged("PILOT_ENABLE_CA_CRL", "certificate revocation lists are not distributed to proxies yet; unset it"),
];

/** Names of the variables that are refused, and so are not without effect. */
export const unservedProtectionNames: readonly string[] = unservedProtections.map(({ name }) => name);

/** @throws SettingError that names the first variable that asks for a protection that istiod does not have */
export function refuseUnservedProtections(env: Environment): void {
  const refused = unservedProtections.find((each) => each.isRequested(env));
  if (refused !== undefined) throw new SettingError(`${refused.name}=${env[refused.name] ?? ""}: ${refused.why}`);
}
