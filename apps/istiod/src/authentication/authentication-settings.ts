import { type JwtRule, parseJwtRule } from "@istiod/ca";
import { AddressRanges } from "@istiod/peer-address";
import { reasonOf } from "@istiod/runtime";
import { type Environment, SettingError } from "@istiod/settings";
import { variables } from "../variables.js";

/** Settings of the authentication of callers. */
export interface AuthenticationSettings {
  /** Issuer of JWT_RULE. */
  readonly jwtRule?: JwtRule;
  /** Issuer of TOKEN_ISSUER, which authenticates callers of the certificate authority only. */
  readonly tokenIssuer?: JwtRule;
  /** Addresses of the gateways that forward client certificates; absent: none does. */
  readonly trustedGateways?: AddressRanges;
  /** Service accounts of node agents as `namespace/name`. */
  readonly trustedNodeAccounts: ReadonlySet<string>;
}

/**
 * Reads the settings of authentication.
 *
 * @throws SettingError that names the variable
 */
export function authenticationSettings(env: Environment): AuthenticationSettings {
  const jwtRule = variables.jwtRule.read(env);
  const ranges = variables.trustedGateways.read(env);
  const issuer = tokenIssuer(env);
  return {
    ...(jwtRule !== "" && { jwtRule: checked("JWT_RULE", () => parseJwtRule(jwtRule)) }),
    ...(issuer && { tokenIssuer: issuer }),
    ...(ranges.length > 0 && { trustedGateways: checked("TRUSTED_GATEWAY_CIDR", () => new AddressRanges(ranges)) }),
    trustedNodeAccounts: new Set(variables.trustedNodeAccounts.read(env).map(checkedAccount)),
  };
}

/** As in Istio, an istiod in a Pod has tokens reviewed by the API server instead. */
function tokenIssuer(env: Environment): JwtRule | undefined {
  const issuer = variables.tokenIssuer.read(env);
  const audience = variables.audience.read(env);
  if (issuer === "" || variables.clusterHost.read(env) !== "") return undefined;
  if (audience === "") throw new SettingError("AUDIENCE: is required with TOKEN_ISSUER");
  return checked("TOKEN_ISSUER", () => parseJwtRule(JSON.stringify({ issuer, audiences: [audience] })));
}

/** Returns a warning for each variable of authentication that has no effect together with the others. */
export function unusedAuthentication(env: Environment): readonly string[] {
  const issuer = variables.tokenIssuer.read(env);
  if (issuer !== "" && variables.clusterHost.read(env) !== "")
    return ["TOKEN_ISSUER is ignored: in a cluster, the API server reviews tokens"];
  return issuer === "" && variables.audience.read(env) !== "" ? ["AUDIENCE is ignored without TOKEN_ISSUER"] : [];
}

function checkedAccount(account: string): string {
  if (/^[a-z0-9-]+\/[a-z0-9.-]+$/.test(account)) return account;
  throw new SettingError(
    `CA_TRUSTED_NODE_ACCOUNTS: ${JSON.stringify(account)} is not a service account, expected NAMESPACE/NAME`,
  );
}

function checked<T>(variable: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new SettingError(`${variable}: ${reasonOf(error)}`);
  }
}
