import { execFile } from "node:child_process";

/** Istio's extension by which Envoy looks the metadata of peers up by xDS, as an entry of `bootstrap_extensions`. */
export const metadataDiscoveryExtension = {
  name: "metadata_discovery",
  typed_config: {
    "@type": "type.googleapis.com/udpa.type.v1.TypedStruct",
    type_url: "type.googleapis.com/istio.workload.BootstrapExtension",
    value: { config_source: { ads: {} } },
  },
};

/**
 * Reports whether an Envoy binary was built with {@link metadataDiscoveryExtension}: Istio's build has it, and a stock
 * build would not start with it. Any other failure of the binary is left for its start to report.
 *
 * @param directory the working directory, which a relative path of the binary is relative to
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
