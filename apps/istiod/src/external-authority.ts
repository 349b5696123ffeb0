import { existsSync } from "node:fs";
import {
  type FollowedRoots,
  followRoots,
  KubernetesSigners,
  type LeafIssuer,
  RegistrationAuthority,
  SignerAuthority,
  type SignerStatus,
} from "@istiod/ca";
import { meshConfig, meshConfigKey, rootsOfSigner, signersWithRoots } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import type { ApiClient } from "@istiod/kubernetes";
import type { Meter } from "@istiod/metrics";
import type { Proxy } from "@istiod/push-context";
import { type Environment, SettingError } from "@istiod/settings";
import type { Logger } from "pino";
import { followMeshConfig } from "./follow-mesh-config.js";
import { variables } from "./variables.js";

/** The signers of the cluster that sign certificates in istiod's place (EXTERNAL_CA). */
export interface ExternalAuthority {
  /** Issues the certificates of workloads. */
  readonly issuer: LeafIssuer;
  readonly signers: KubernetesSigners;
  /** The root of all signers, from a file; undefined if each signer has its own. */
  readonly roots: FollowedRoots | undefined;
  stop(): void;
}

/** Files with the root of all signers, as in Istio. The second one is used only without CERT_SIGNER_DOMAIN. */
export interface SignerRootFiles {
  readonly external: string;
  readonly cluster: string;
}

const rootFiles: SignerRootFiles = {
  external: "./etc/external-ca-cert/root-cert.pem",
  cluster: "./var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
};

export interface ExternalAuthorityInputs {
  readonly env: Environment;
  readonly client: ApiClient | undefined;
  readonly database: Database<Proxy>;
  readonly meter: Meter;
  readonly log: Logger;
}

/** Checks that the variables of external authorities fit together. @throws SettingError */
export function checkExternalAuthority(env: Environment): void {
  const provider = variables.certificateProvider.read(env);
  if (provider !== "istiod" && variables.externalCa.read(env) === "")
    throw new SettingError(
      `PILOT_CERT_PROVIDER=${provider}: requires EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API, and its root in caCertificates of the mesh configuration`,
    );
}

/** Returns the variables that have no effect without an external authority, and are set. */
function unusedVariables(env: Environment): readonly string[] {
  const signers = { K8S_SIGNER: variables.defaultSigner, CERT_SIGNER_DOMAIN: variables.signerDomain };
  return Object.entries(signers).flatMap(([name, setting]) => (setting.read(env) === "" ? [] : [name]));
}

/**
 * Opens the external authority. Returns undefined if there is none.
 *
 * @throws Error that names the variable, or the file of roots that is missing or invalid
 */
export async function openExternalAuthority(
  { env, client, database, meter, log }: ExternalAuthorityInputs,
  files: SignerRootFiles = rootFiles,
): Promise<ExternalAuthority | undefined> {
  const type = variables.externalCa.read(env);
  if (!variables.caServer.read(env)) {
    if (type !== "") log.warn(`EXTERNAL_CA=${type} is ignored with ENABLE_CA_SERVER=false`);
    return undefined;
  }
  if (type === "") {
    for (const name of unusedVariables(env)) log.warn(`${name} is ignored without EXTERNAL_CA`);
    return undefined;
  }
  if (client === undefined)
    throw new SettingError(`EXTERNAL_CA=${type}: there is no cluster with signers, give --kubeconfig`);
  const [defaultSigner, signerDomain] = [variables.defaultSigner.read(env), variables.signerDomain.read(env)];
  if (defaultSigner === "" && signerDomain === "")
    throw new SettingError(
      `EXTERNAL_CA=${type}: no signer is given, set K8S_SIGNER, or CERT_SIGNER_DOMAIN for the signers that proxies name`,
    );
  const signers = observedSigners({ env, client, database, meter, log });
  const roots = await signerRoots(signerDomain, files, log);
  const issuer = new RegistrationAuthority({
    signers,
    roots: {
      file: () => roots?.bundle.rootsPem,
      configured: (signer) => rootsOfSigner(configOf(database), signer),
    },
    defaultSigner,
    signerDomain,
    defaultLifetime: variables.workloadCertificateLifetime.read(env),
    maxLifetime: variables.maxWorkloadCertificateLifetime.read(env),
  });
  log.info({ externalCa: type, defaultSigner, signerDomain }, "workload certificates are signed by an external CA");
  return { issuer, signers, roots, stop: () => roots?.stop() };
}

/**
 * Returns the signer of istiod's own certificate (PILOT_CERT_PROVIDER=k8s.io/…), which follows its roots in the mesh
 * configuration, and a function that ends this. Undefined: istiod's own CA signs it.
 *
 * @throws Error if the mesh configuration has no root of the signer
 */
export function openSignerAuthority(
  { env, database, log }: Pick<ExternalAuthorityInputs, "env" | "database" | "log">,
  { signers }: ExternalAuthority,
): { readonly authority: SignerAuthority; stop(): void } | undefined {
  const provider = variables.certificateProvider.read(env);
  if (provider === "istiod") return undefined;
  const signer = provider.slice("k8s.io/".length);
  const rootsNow = (): string | undefined => rootsOfSigner(configOf(database), signer);
  const roots = rootsNow();
  if (roots === undefined)
    throw new SettingError(
      `PILOT_CERT_PROVIDER=${provider}: its root is unknown, caCertificates of the mesh configuration has no PEM with ${signer} in certSigners`,
    );
  const authority = new SignerAuthority({ signers, signer, roots });
  const follow = (): void => {
    const next = rootsNow();
    try {
      if (next === undefined) log.error(`mesh configuration: no root of ${signer} in caCertificates, keeping the last`);
      else authority.useRoots(next);
    } catch (error) {
      log.error({ err: error }, `mesh configuration: root of ${signer} is invalid, keeping the last good one`);
    }
  };
  return { authority, stop: followMeshConfig(database, follow) };
}

/** Returns lines of `/ready?verbose` about signers. */
export function signerLines(statuses: readonly SignerStatus[]): readonly string[] {
  return statuses.map(({ signer, failure }) =>
    failure === undefined
      ? `[+]signer ${signer}: ok\n`
      : `[-]signer ${signer}: failed at ${new Date(failure.at).toISOString()}: ${failure.reason.replaceAll("\n", " ")}\n`,
  );
}

function observedSigners({
  env,
  client,
  database,
  meter,
  log,
}: ExternalAuthorityInputs & { readonly client: ApiClient }) {
  const requests = meter.counter({
    name: "istiod_signer_requests",
    help: "Certificates requested from signers of the cluster, by signer and result.",
    labels: ["signer", "result"],
  });
  // Callers choose names of signers: only those that the operator has configured are series of their own.
  const isConfigured = (signer: string): boolean =>
    signer === variables.defaultSigner.read(env) ||
    `k8s.io/${signer}` === variables.certificateProvider.read(env) ||
    signersWithRoots(configOf(database)).has(signer);
  const label = (signer: string): string => (isConfigured(signer) ? signer : "other");
  const signers = new KubernetesSigners({
    client,
    onResult: (signer, result) => requests.add({ signer: label(signer), result }),
    onLeftOver: (name, error) => log.warn({ err: error }, `CertificateSigningRequest ${name} cannot be deleted`),
  });
  meter.observeGauge(
    {
      name: "istiod_signer_last_success_timestamp",
      help: "Time of the last certificate of a signer of the cluster, in Unix seconds.",
      labels: ["signer"],
    },
    () =>
      signers
        .statuses()
        .flatMap(({ signer, lastSuccess }) =>
          lastSuccess === undefined || !isConfigured(signer) ? [] : [{ labels: { signer }, value: lastSuccess / 1000 }],
        ),
  );
  return signers;
}

async function signerRoots(
  signerDomain: string,
  { external, cluster }: SignerRootFiles,
  log: Logger,
): Promise<FollowedRoots | undefined> {
  if (!existsSync(external) && signerDomain !== "") {
    log.info(`${external} does not exist: the roots of signers are in the mesh configuration, or in their chains`);
    return undefined;
  }
  const file = existsSync(external) ? external : cluster;
  return followRoots({
    file,
    onReload: () => log.info({ file }, "root of the external CA reloaded"),
    onError: (error) => log.error({ err: error }, `root of the external CA is invalid, keeping the last good one`),
  });
}

function configOf(database: Database<Proxy>) {
  return database.read(meshConfig, meshConfigKey) ?? { caCertificates: [] };
}
