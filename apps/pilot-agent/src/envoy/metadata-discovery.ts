import { execFile } from "node:child_process";

/** Istio's bootstrap extension, with which Envoy discovers the metadata of peers over xDS. */
export const metadataDiscoveryExtension = {
  name: "metadata_discovery",
  typed_config: {
    "@type": "type.googleapis.com/udpa.type.v1.TypedStruct",
    type_url: "type.googleapis.com/istio.workload.BootstrapExtension",
    value: { config_source: { ads: {} } },
  },
};

/**
 * Reports whether an Envoy binary has {@link metadataDiscoveryExtension}. Istio's build has it; a stock build rejects a
 * bootstrap with it. Other failures of the binary count as support, and are reported when Envoy is started.
 *
 * @param directory the working directory, which a relative path of the binary is resolved against
 */
export function supportsMetadataDiscovery(binary: string, directory: string): Promise<boolean> {
  const bootstrap = JSON.stringify({ bootstrap_extensions: [metadataDiscoveryExtension] });
  const args = ["--mode", "validate", "--disable-hot-restart", "--config-yaml", bootstrap];
  return new Promise((resolve) => {
    execFile(binary, args, { cwd: directory, timeout: 10_000 }, (error, stdout, stderr) => {
      const unknown = /Didn't find a registered implementation for 'metadata_discovery'/.test(stdout + stderr);
      resolve(error === null || !unknown);
    });
  });
}
