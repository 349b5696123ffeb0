import { PassThrough } from "node:stream";
import { Exec, KubeConfig, type V1Status } from "@kubernetes/client-node";

export interface Executed {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: V1Status;
}

/** Runs a command in a container, as `kubectl exec` does. */
export async function execute(
  kubeconfig: string,
  {
    namespace = "default",
    pod,
    container,
  }: { readonly namespace?: string; readonly pod: string; readonly container: string },
  command: string[],
): Promise<Executed> {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const status = await new Promise<V1Status>((resolve, reject) => {
    const exec = new Exec(config).exec(namespace, pod, container, command, stdout, stderr, null, false, resolve);
    exec.catch(reject);
  });
  const read = (stream: PassThrough): string => String((stream.read() as Buffer | null) ?? "");
  return { stdout: read(stdout), stderr: read(stderr), status };
}
