import { type CertificateAuthority, type CertificateEvents, signErrorLabel } from "@istiod/ca";
import { Counter, Gauge, type Registry } from "prom-client";

/** Istio's metrics of the certificate authority; gives what feeds them. */
export function certificateMetrics(registry: Registry, authority: CertificateAuthority): CertificateEvents {
  const registers = [registry];
  const counter = (name: string, help: string): Counter =>
    new Counter({ name: `citadel_server_${name}`, help, registers });
  const requested = counter("csr_count", "Certificate signing requests received.");
  const unauthenticated = counter("authentication_failure_count", "Requests whose caller is not authenticated.");
  const notParsed = counter(
    "csr_parsing_err_count",
    "Certificate signing requests that cannot be read, or are not signed by their key.",
  );
  const issued = counter("success_cert_issuance_count", "Certificates issued.");
  const failed = new Counter({
    name: "citadel_server_csr_sign_err_count",
    help: "Requests that could not be signed.",
    labelNames: ["error"],
    registers,
  });
  const expiry = (name: string, help: string, of: (e: { root: number; signing: number }) => number): void => {
    new Gauge({
      name: `citadel_server_${name}_expiry_timestamp`,
      help: `${help} expires, in Unix seconds.`,
      registers,
      collect() {
        this.set(of(authority.expiry()) / 1000);
      },
    });
    new Gauge({
      name: `citadel_server_${name}_expiry_seconds`,
      help: `Seconds until ${help.toLowerCase()} expires.`,
      registers,
      collect() {
        this.set((of(authority.expiry()) - Date.now()) / 1000);
      },
    });
  };
  expiry("root_cert", "The root certificate", (e) => e.root);
  expiry("cert_chain", "The signing certificate", (e) => e.signing);
  return {
    requested: () => requested.inc(),
    authenticationFailed: () => unauthenticated.inc(),
    issued: () => issued.inc(),
    signingFailed: (error) => {
      if (error.code === "csr") notParsed.inc();
      failed.inc({ error: signErrorLabel(error.code) });
    },
  };
}
